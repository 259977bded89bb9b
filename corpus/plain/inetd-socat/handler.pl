# A program as inetd starts it: one connection, which is its standard input and output. It ends with the connection.
use strict;
use warnings;
use Time::HiRes qw(sleep clock_gettime CLOCK_PROCESS_CPUTIME_ID);

sub compute {
    my $ends = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) + $_[0] / 1000;
    my $x = 1;
    while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID) < $ends) {
        $x = ($x * 1103515245 + 12345) & 0x7fffffff for 1 .. 500;
    }
    return $x;
}

while (defined(my $line = <STDIN>)) {
    my ($path, $ms) = $line =~ m{^GET ([^ ?]*)(?:\?ms=(\d+))? HTTP/1\.1\r\n$} or last;
    while (defined(my $header = <STDIN>)) { last if $header eq "\r\n" }
    my $body;
    if    ($path eq '/')        { $body = 'hello' }
    elsif ($path eq '/wait')    { sleep(($ms || 0) / 1000); $body = 'waited' }
    elsif ($path eq '/compute') { $body = compute($ms || 0) }
    my $status = defined $body ? '200 OK' : '404 Not Found';
    $body //= '';
    syswrite STDOUT,
        "HTTP/1.1 $status\r\nContent-Type: text/plain\r\nContent-Length: " . length($body) . "\r\n\r\n$body";
}
