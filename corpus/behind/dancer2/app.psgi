# Dancer2 on Starman. GET /work does $WORK: wait:MS, ask:MS (asks the server at $BESIDE_PORT), markup:LINES (passes so many lines to
# a filter, a process that each worker has, and takes back each before it passes the next).
package Planted;
use strict;
use warnings;
use Dancer2;
use HTTP::Tiny;
use IPC::Open2;
use Time::HiRes qw(sleep clock_gettime CLOCK_PROCESS_CPUTIME_ID);

set logger   => 'null';
set charset  => 'utf-8';
set content_type => 'text/plain';

my ($what, $n) = split /:/, $ENV{WORK};
my ($filter, $to, $from);

sub used_ms { return 1000 * clock_gettime(CLOCK_PROCESS_CPUTIME_ID) }

sub compute {
    my ($cpu_ms) = @_;
    my ($x, $ends) = (1, used_ms() + $cpu_ms);
    while (used_ms() < $ends) {
        $x = ($x * 1103515245 + 12345) & 0x7fffffff for 1 .. 500;
    }
    return $x;
}

sub markup {
    $filter //= open2($from, $to, 'sed', '-u', 's/_/ /');
    my $text = '';
    for my $line (1 .. $n) {
        syswrite $to, "line_$line\n";
        $text .= readline $from;
    }
    return $text;
}

sub ask {
    my $answer = HTTP::Tiny->new(keep_alive => 0)->get("http://127.0.0.1:$ENV{BESIDE_PORT}/wait?ms=$n");
    die "not answered\n" unless $answer->{success};
    return;
}

my %do = (wait => sub { sleep $n / 1000 }, markup => \&markup, ask => \&ask);

get '/' => sub { return 'hello' };
get '/wait' => sub {
    sleep((query_parameters->get('ms') // 0) / 1000);
    return 'waited';
};
get '/compute' => sub { return compute(query_parameters->get('ms') // 0) };
get '/work' => sub {
    $do{$what}->();
    return 'done';
};

__PACKAGE__->to_app;
