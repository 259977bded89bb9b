# Twiggy with AnyEvent, with causes to plant: WORK and BESIDE_PORT in the environment. GET /work does WORK, steps joined by "+":
# wait:MS, fetch:MS (asks the server at BESIDE_PORT, by AnyEvent::HTTP), json:ROWS (encodes rows by Perl's own JSON), watch:MS (waits,
# while the loop has an idle watcher that nobody has taken away).
use strict;
use warnings;
use AnyEvent;
use AnyEvent::HTTP;
use EV;
use JSON::PP;
use Time::HiRes qw(clock_gettime CLOCK_THREAD_CPUTIME_ID);

my @steps = map { [split /:/] } split /\+/, $ENV{WORK};
my $address = "http://127.0.0.1:$ENV{BESIDE_PORT}/wait?ms=";
my $json = JSON::PP->new->canonical;
my @articles = map { { id => $_, title => "article $_", price => $_ * 1.25, tags => ['new', 'sale'] } } 1 .. 1000;
# What lies in a variable of the file's own is gone when the file has been read, and a watcher with it.
our ($swept, $sweeping) = (0);
$sweeping = EV::idle(sub { $swept++ }) if $ENV{WORK} =~ /watch/;

sub text {
    my ($text, $status) = @_;
    return [$status || 200, ['Content-Type' => 'text/plain', 'Content-Length' => length $text], [$text]];
}

sub compute {
    my $ends = clock_gettime(CLOCK_THREAD_CPUTIME_ID) + $_[0] / 1000;
    my $x = 1;
    while (clock_gettime(CLOCK_THREAD_CPUTIME_ID) < $ends) {
        $x = ($x * 1103515245 + 12345) & 0x7fffffff for 1 .. 300;
    }
    return $x;
}

sub later {
    my ($ms, $then) = @_;
    my $timer;
    $timer = AnyEvent->timer(after => $ms / 1000, cb => sub { undef $timer; $then->() });
}

# Does one step after the other, and then calls back with a status.
sub work {
    my ($then, $step, @rest) = @_;
    return $then->(200) if !$step;
    my ($what, $n) = @$step;
    my $next = sub { work($then, @rest) };
    return later($n, $next) if $what eq 'wait' || $what eq 'watch';
    if ($what eq 'fetch') {
        return http_get("$address$n", sub { $_[1]{Status} == 200 ? $next->() : $then->(502) });
    }
    $json->encode([@articles[0 .. $n - 1]]);
    return $next->();
}

sub {
    my $env = shift;
    my ($ms) = ($env->{QUERY_STRING} || '') =~ /(?:^|&)ms=(\d+)/;
    my $path = $env->{PATH_INFO};
    return text('hello') if $path eq '/';
    return text(compute($ms || 0)) if $path eq '/compute';
    return sub {
        my $respond = shift;
        later($ms || 0, sub { $respond->(text('waited')) });
    } if $path eq '/wait';
    return sub {
        my $respond = shift;
        work(sub { $respond->(text('done', $_[0])) }, @steps);
    } if $path eq '/work';
    return text('', 404);
};
