# HTTP::Daemon with a process for each connection.
use strict;
use warnings;
use HTTP::Daemon;
use HTTP::Response;
use Time::HiRes qw(sleep clock_gettime CLOCK_PROCESS_CPUTIME_ID);

sub compute {
    my $ends = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) + $_[0] / 1000;
    my $x = 1;
    while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID) < $ends) {
        $x = ($x * 1103515245 + 12345) & 0x7fffffff for 1 .. 500;
    }
    return $x;
}

sub answer {
    my ($path, $ms) = @_;
    return 'hello' if $path eq '/';
    if ($path eq '/wait') { sleep($ms / 1000); return 'waited' }
    return compute($ms) if $path eq '/compute';
    return undef;
}

my $daemon = HTTP::Daemon->new(LocalAddr => '127.0.0.1', LocalPort => $ARGV[0], ReuseAddr => 1, Listen => 1024)
    or die "cannot listen: $!\n";
$SIG{CHLD} = 'IGNORE';
while (1) {
    my $connection = $daemon->accept or next;
    my $pid = fork;
    die "cannot fork: $!\n" unless defined $pid;
    next if $pid;
    $daemon->close;
    while (my $request = $connection->get_request) {
        my %query = $request->uri->query_form;
        my $body = answer($request->uri->path, $query{ms} || 0);
        my $response = HTTP::Response->new(defined $body ? 200 : 404);
        $response->header('Content-Type' => 'text/plain', 'Content-Length' => length($body // ''));
        $response->content($body // '');
        $connection->send_response($response);
    }
    exit;
}
