# Waits by a timer of AnyEvent, and answers later: PSGI's way for servers that do not block.
use strict;
use warnings;
use AnyEvent;
use lib '.';
use Work;

sub {
    my $env = shift;
    my ($ms) = ($env->{QUERY_STRING} || '') =~ /(?:^|&)ms=(\d+)/;
    my $path = $env->{PATH_INFO};
    return Work::text('hello') if $path eq '/';
    return Work::text(Work::compute($ms || 0)) if $path eq '/compute';
    return Work::missing() if $path ne '/wait';
    return sub {
        my $respond = shift;
        my $timer;
        $timer = AnyEvent->timer(after => ($ms || 0) / 1000, cb => sub {
            undef $timer;
            $respond->(Work::text('waited'));
        });
    };
};
