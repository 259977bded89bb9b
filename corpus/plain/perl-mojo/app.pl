# Mojolicious: waits by a timer of its loop.
use Mojolicious::Lite -signatures;
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID);

# A process here has one thread, so the process's clock is the thread's.
sub compute ($ms) {
    my $ends = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) + $ms / 1000;
    my $x = 1;
    while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID) < $ends) {
        $x = ($x * 1103515245 + 12345) & 0x7fffffff for 1 .. 500;
    }
    return $x;
}

get '/' => sub ($c) { $c->render(text => 'hello') };

get '/wait' => sub ($c) {
    $c->render_later;
    Mojo::IOLoop->timer(($c->param('ms') || 0) / 1000 => sub ($loop) { $c->render(text => 'waited') });
};

get '/compute' => sub ($c) { $c->render(text => compute($c->param('ms') || 0)) };

app->log->level('warn');
app->start;
