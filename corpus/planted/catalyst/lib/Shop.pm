package Shop;
use strict;
use warnings;
use Catalyst;

__PACKAGE__->config(name => 'Shop', disable_component_resolution_regex_fallback => 1, encoding => 'UTF-8');
__PACKAGE__->setup;
__PACKAGE__->log->levels('error', 'fatal');

1;
