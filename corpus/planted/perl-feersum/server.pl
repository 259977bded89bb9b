# Feersum, an event loop in C with handlers in Perl: perl server.pl PORT WORK PROCESSES. GET /work does WORK: wait:MS, call:MS (calls what
# blocks for so long).
use strict;
use warnings;
use EV;
use Feersum;
use IO::Socket::INET;
use Socket qw(SOMAXCONN IPPROTO_TCP TCP_NODELAY);
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID sleep);

my ($port, $work, $processes) = @ARGV;
my ($what, $n) = split /:/, $work;

sub compute {
    my $ends = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) + $_[0] / 1000;
    my $x    = 1;
    while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID) < $ends) {
        $x = ($x * 1103515245 + 12345) & 0x7fffffff for 1 .. 300;
    }
    return "$x";
}

sub answer {
    my ($request, $body) = @_;
    $request->send_response(200, [ 'Content-Type' => 'text/plain' ], \$body);
    return;
}

sub later {
    my ($request, $ms, $body) = @_;
    EV::now_update;
    my $timer;
    $timer = EV::timer $ms / 1000, 0, sub {
        undef $timer;
        answer($request, $body);
    };
    return;
}

my $socket = IO::Socket::INET->new(
    LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 1024, ReuseAddr => 1, Blocking => 0,
) or die "cannot listen: $!\n";
setsockopt $socket, IPPROTO_TCP, TCP_NODELAY, 1;

my @children;
if ($processes > 1) {
    for (1 .. $processes) {
        my $child = fork;
        if (!$child) { @children = (); last; }
        push @children, $child;
    }
    if (@children) {
        local $SIG{TERM} = sub { kill TERM => @children; exit };
        wait;
        kill TERM => @children;
        exit 1;
    }
}

my $server = Feersum->new;
EV::default_loop->loop_fork if $processes > 1;
$server->use_socket($socket);
$server->set_keepalive(1) if $server->can('set_keepalive');
$server->request_handler(sub {
    my ($request) = @_;
    my $env = $request->env;
    my ($ms) = $env->{QUERY_STRING} =~ /ms=([0-9.]+)/;
    $ms //= 0;
    my $path = $env->{PATH_INFO};
    if    ($path eq '/wait')    { later($request, $ms, 'waited') }
    elsif ($path eq '/compute') { answer($request, compute($ms)) }
    elsif ($path eq '/work') {
        if ($what eq 'call') {
            sleep $n / 1000;
            answer($request, 'done');
        }
        else { later($request, $n, 'done') }
    }
    else { answer($request, 'hello') }
});
EV::run;
