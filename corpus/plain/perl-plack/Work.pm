package Work;
use strict;
use warnings;
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID);

# A process here has one thread, so the process's clock is the thread's.
sub compute {
    my $ends = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) + $_[0] / 1000;
    my $x = 1;
    while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID) < $ends) {
        $x = ($x * 1103515245 + 12345) & 0x7fffffff for 1 .. 500;
    }
    return $x;
}

sub text { [200, ['Content-Type' => 'text/plain', 'Content-Length' => length $_[0]], [$_[0]]] }

sub missing { [404, ['Content-Type' => 'text/plain', 'Content-Length' => 0], []] }

1;
