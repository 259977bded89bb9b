use strict;
use warnings;
use lib 'lib';
use Shop;

Shop->psgi_app;
