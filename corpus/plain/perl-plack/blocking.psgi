# Waits in the process that answers.
use strict;
use warnings;
use Time::HiRes qw(sleep);
use lib '.';
use Work;

sub {
    my $env = shift;
    my ($ms) = ($env->{QUERY_STRING} || '') =~ /(?:^|&)ms=(\d+)/;
    my $path = $env->{PATH_INFO};
    return Work::text('hello') if $path eq '/';
    return Work::text(Work::compute($ms || 0)) if $path eq '/compute';
    return Work::missing() if $path ne '/wait';
    sleep(($ms || 0) / 1000);
    return Work::text('waited');
};
