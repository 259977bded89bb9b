# A response handler of mod_perl: waits and computes in the process that answers. GET /work does $WORK: wait:MS or compute:MS.
package Answer;
use strict;
use warnings;
use Apache2::Const -compile => qw(OK NOT_FOUND);
use Apache2::RequestIO ();
use Apache2::RequestRec ();
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

sub work {
    my ($what, $n) = split /:/, shift;
    return $what eq 'wait' ? sleep($n / 1000) : compute($n);
}

sub handler {
    my $request = shift;
    my ($ms) = ($request->args || '') =~ /(?:^|&)ms=(\d+)/;
    my $path = $request->uri;
    $request->content_type('text/plain');
    if    ($path eq '/')        { $request->print('hello') }
    elsif ($path eq '/wait')    { sleep(($ms || 0) / 1000); $request->print('waited') }
    elsif ($path eq '/compute') { $request->print(compute($ms || 0)) }
    elsif ($path eq '/work')    { work($ENV{WORK}); $request->print('done') }
    else                        { return Apache2::Const::NOT_FOUND }
    return Apache2::Const::OK;
}

1;
