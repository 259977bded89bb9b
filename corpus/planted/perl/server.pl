# Processes that each accept a connection and serve it to its end, with causes to plant: perl server.pl PORT name=value...
#
#   least=N most=N (processes) every_ms=N keep=0|1 folder=PATH work=STEPS
#
# While all are busy one is added every `every_ms`, until there are `most`; while more than two are idle, one is ended every
# second, and `least` remain. GET /work does the steps in turn, joined by "+": wait:MS, compute:MS, lock:MS (computes with
# the lock of a file), lockwait:MS (waits with it).
use strict;
use warnings;
use Fcntl qw(LOCK_EX LOCK_UN);
use IO::Select;
use IO::Socket::INET;
use POSIX qw(WNOHANG);
use Socket qw(IPPROTO_TCP TCP_NODELAY);
use Time::HiRes qw(sleep clock_gettime CLOCK_PROCESS_CPUTIME_ID CLOCK_MONOTONIC);

my $port = shift;
my %given = map { split /=/, $_, 2 } @ARGV;
my @work = map { [split /:/] } split /\+/, $given{work};
my $file;

# A worker is a process of one thread, so the process's clock is the thread's.
sub compute {
    my $ends = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) + $_[0] / 1000;
    my $x = 1;
    while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID) < $ends) {
        $x = ($x * 1103515245 + 12345) & 0x7fffffff for 1 .. 500;
    }
    return $x;
}

sub perform {
    my ($what, $n) = @_;
    flock $file, LOCK_EX if $what =~ /^lock/;
    if ($what =~ /wait$/) { sleep($n / 1000) }
    else                  { compute($n) }
    flock $file, LOCK_UN if $what =~ /^lock/;
}

# Answers one request; whether another may follow.
sub exchange {
    my ($connection) = @_;
    my $line = <$connection> // return 0;
    my $keep = $given{keep};
    while (1) {
        my $field = <$connection> // return 0;
        last if $field =~ /^\r?\n$/;
        $keep = 0 if $field =~ /^connection: close/i;
    }
    my ($path, $ms) = $line =~ m{^GET ([^ ?]*)(?:\?ms=([\d.]+))?} or return 0;
    my %steps = ('/' => [], '/wait' => [['wait', $ms // 0]], '/compute' => [['compute', $ms // 0]], '/work' => \@work);
    my $steps = $steps{$path};
    perform(@$_) for @{$steps // []};
    my $status = $steps ? '200 OK' : '404 Not Found';
    my $close = $keep ? '' : "Connection: close\r\n";
    print $connection "HTTP/1.1 $status\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n$close\r\ndone";
    return $keep && $connection->flush;
}

my $listener = IO::Socket::INET->new(
    LocalAddr => '127.0.0.1', LocalPort => $port, ReuseAddr => 1, Listen => 4096, Proto => 'tcp')
    or die "cannot listen: $!\n";
pipe my $told, my $tell or die "no pipe: $!\n";

sub serve {
    my $over = 0;
    # Without SA_RESTART, so that a process that waits for a connection ends at once.
    POSIX::sigaction(POSIX::SIGTERM(), POSIX::SigAction->new(sub { $over = 1 }));
    open $file, '>', "$given{folder}/lock" or die "no file to lock: $!\n";
    $SIG{PIPE} = 'IGNORE';
    until ($over) {
        my $connection = $listener->accept or next;
        syswrite $tell, '+';
        setsockopt $connection, IPPROTO_TCP, TCP_NODELAY, 1;
        1 while exchange($connection);
        close $connection;
        syswrite $tell, '-';
    }
    exit 0;
}

my %workers;

sub start {
    my $pid = fork // die "cannot fork: $!\n";
    serve() unless $pid;
    $workers{$pid} = 1;
}

$SIG{TERM} = sub { kill 'KILL', keys %workers; exit 0 };
start() for 1 .. $given{least};
my ($busy, $added, $ended) = (0, 0, 0);
my $select = IO::Select->new($told);
while (1) {
    if ($select->can_read($given{every_ms} / 1000)) {
        sysread $told, my $seen, 4096;
        $busy += ($seen =~ tr/+//) - ($seen =~ tr/-//);
    }
    while ((my $pid = waitpid -1, WNOHANG) > 0) { delete $workers{$pid} }
    my ($count, $now) = (scalar keys %workers, clock_gettime(CLOCK_MONOTONIC));
    if ($busy >= $count && $count < $given{most} && $now - $added >= $given{every_ms} / 1000) {
        start();
        $added = $now;
    }
    if ($count - $busy > 2 && $count > $given{least} && $now - $ended >= 1) {
        kill 'TERM', (keys %workers)[0];
        $ended = $now;
    }
}
