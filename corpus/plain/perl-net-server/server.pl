# Net::Server: perl server.pl PORT CHILDREN. A process is forked for each connection, CHILDREN at a time at most.
package Answers;
use strict;
use warnings;
use parent 'Net::Server::Fork';
use Time::HiRes qw(sleep clock_gettime CLOCK_PROCESS_CPUTIME_ID);

# A child is a process of one thread, so the process's clock is the thread's.
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
    return 'hello'                            if $path eq '/';
    return sleep($ms / 1000) ? 'waited' : ''  if $path eq '/wait';
    return compute($ms)                       if $path eq '/compute';
    return undef;
}

# Net::Server has the connection as standard input and output.
sub process_request {
    while (defined(my $line = <STDIN>)) {
        my ($path, $ms) = $line =~ m{^GET (/[^? ]*)(?:\?ms=(\d+))? } or return;
        while (defined(my $field = <STDIN>)) { last if $field =~ /^\r?\n$/ }
        my $body = answer($path, $ms // 0);
        my $status = defined $body ? '200 OK' : '404 Not Found';
        $body //= '';
        print "HTTP/1.1 $status\r\nContent-Type: text/plain\r\nContent-Length: ", length $body, "\r\n\r\n$body";
    }
}

my ($port, $children) = @ARGV;
Answers->run(host => '127.0.0.1', port => $port, ipv => 4, max_servers => $children, listen => 1024, log_level => 0);
