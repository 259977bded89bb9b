use strict;
use warnings;
use Time::HiRes qw(sleep clock_gettime CLOCK_PROCESS_CPUTIME_ID);

# A worker is a process of one thread, so the process's clock is the thread's.
sub compute {
    my $ends = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) + $_[0] / 1000;
    my $x = 1;
    while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID) < $ends) {
        $x = ($x * 1103515245 + 12345) & 0x7fffffff for 1 .. 500;
    }
    return $x;
}

sub {
    my $env = shift;
    my ($ms) = ($env->{QUERY_STRING} || 'ms=0') =~ /(?:^|&)ms=(\d+)/;
    my $path = $env->{PATH_INFO};
    my $body;
    if    ($path eq '/')        { $body = 'hello' }
    elsif ($path eq '/wait')    { sleep(($ms || 0) / 1000); $body = 'waited' }
    elsif ($path eq '/compute') { $body = compute($ms || 0) }
    my $status = defined $body ? 200 : 404;
    $body = '' unless defined $body;
    return [$status, ['Content-Type' => 'text/plain', 'Content-Length' => length $body], [$body]];
};
