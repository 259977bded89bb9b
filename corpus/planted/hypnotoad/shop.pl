#!/usr/bin/env perl
# A shop in Mojolicious::Lite, with causes to plant: PORT=… FOLDER=… WORK=… WORKERS=… CLIENTS=… hypnotoad --foreground shop.pl.
# GET /work does WORK: query:MS (a driver that blocks for so long), order:KIB (saves an order), spell:WORDS (asks a checker).
use Mojolicious::Lite -signatures;
use IO::Handle;
use IPC::Open2 'open2';
use Mojo::IOLoop;
use Time::HiRes qw(clock_gettime sleep CLOCK_PROCESS_CPUTIME_ID);

my ($what, $n) = split /:/, $ENV{WORK};

app->mode('production');
app->log->level('error');
app->config(
  hypnotoad => {
    listen    => ["http://127.0.0.1:$ENV{PORT}"],
    workers   => $ENV{WORKERS},
    clients   => $ENV{CLIENTS},
    backlog   => 1024,
    accepts   => 0,
    keep_alive_timeout => 120,
    requests  => 1_000_000,
    pid_file  => "$ENV{FOLDER}/hypnotoad.pid",
  }
);

sub compute ($ms) {
  my ($ends, $x) = (clock_gettime(CLOCK_PROCESS_CPUTIME_ID) + $ms / 1000, 1);
  while (clock_gettime(CLOCK_PROCESS_CPUTIME_ID) < $ends) {
    $x = ($x * 1103515245 + 12345) & 0x7fffffff for 1 .. 500;
  }
  return $x;
}

# An order is safe before it is confirmed: each process has a journal of its own.
my ($journal, $order);

sub order () {
  if (!$journal) {
    $order = 'x' x ($n * 1024);
    open $journal, '>', "$ENV{FOLDER}/orders.$$" or die $!;
  }
  sysseek $journal, 0, 0;
  syswrite($journal, $order) // die $!;
  $journal->sync or die $!;
}

# The checker reads a word a line and answers each at once; each process has one.
my ($asked, $answers);

sub spell ($words) {
  if (!$asked) {
    open2($answers, $asked, $^X, '-e', '$| = 1; while (<STDIN>) { print $_ eq "wrod\n" ? "? word\n" : "*\n" }');
    $asked->autoflush(1);
  }
  my $wrong = 0;
  for (1 .. $words) {
    print $asked "word\n";
    $wrong++ if readline($answers) ne "*\n";
  }
  return $wrong;
}

get '/' => sub ($c) { $c->render(text => 'hello') };

get '/wait' => sub ($c) {
  $c->render_later;
  Mojo::IOLoop->timer(($c->param('ms') // 0) / 1000 => sub { $c->render(text => 'waited') });
};

get '/compute' => sub ($c) { $c->render(text => compute($c->param('ms') // 0)) };

get '/work' => sub ($c) {
  if    ($what eq 'query') { sleep $n / 1000 }
  elsif ($what eq 'order') { order() }
  elsif ($what eq 'spell') { spell($n) }
  $c->render(text => 'done');
};

app->start;
