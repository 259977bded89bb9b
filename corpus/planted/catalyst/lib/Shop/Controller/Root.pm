# GET /work does $WORK: wait:MS.
package Shop::Controller::Root;
use strict;
use warnings;
use Moose;
use namespace::autoclean;
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID);
BEGIN { extends 'Catalyst::Controller' }

__PACKAGE__->config(namespace => '');

my ($what, $n) = split /:/, $ENV{WORK};

# A worker is a process of one thread, so the process's clock is the thread's.
sub used_ms { return 1000 * clock_gettime(CLOCK_PROCESS_CPUTIME_ID) }

sub computed {
    my ($cpu_ms) = @_;
    my ($x, $ends) = (1, used_ms() + $cpu_ms);
    while (used_ms() < $ends) {
        $x = ($x * 1103515245 + 12345) & 0x7fffffff for 1 .. 500;
    }
    return $x;
}

sub text {
    my ($c, $body) = @_;
    $c->res->content_type('text/plain');
    $c->res->body($body);
    return;
}

sub index : Path : Args(0) { text($_[1], 'hello') }

sub wait : Local : Args(0) {
    my ($self, $c) = @_;
    Time::HiRes::sleep(($c->req->params->{ms} // 0) / 1000);
    text($c, 'waited');
}

sub compute : Local : Args(0) {
    my ($self, $c) = @_;
    text($c, computed($c->req->params->{ms} // 0));
}

sub work : Local : Args(0) {
    my ($self, $c) = @_;
    Time::HiRes::sleep($n / 1000);
    text($c, 'done');
}

__PACKAGE__->meta->make_immutable;

1;
