# For Starman: GET /work does the steps of $WORK in turn, joined by "+": wait:MS, compute:MS.
use strict;
use warnings;
use Time::HiRes qw(sleep clock_gettime CLOCK_PROCESS_CPUTIME_ID);

my @work = map { [split /:/] } split /\+/, $ENV{WORK};

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
    my %steps = ('/' => [], '/wait' => [['wait', $ms // 0]], '/compute' => [['compute', $ms // 0]], '/work' => \@work);
    my $steps = $steps{$env->{PATH_INFO}};
    for (@{$steps // []}) {
        my ($what, $n) = @$_;
        if ($what eq 'wait') { sleep($n / 1000) }
        else                 { compute($n) }
    }
    return [$steps ? 200 : 404, ['Content-Type' => 'text/plain', 'Content-Length' => 4], ['done']];
};
