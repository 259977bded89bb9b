<?php
// Writes a catalogue as PHP: php catalogue.php ARTICLES.
$catalogue = [];
for ($i = 0; $i < (int) $argv[1]; $i++) {
    $catalogue["article $i"] = ['name' => "Article $i", 'price' => 7 * $i, 'tags' => [$i % 7, $i % 11], 'stock' => null];
}
echo "<?php\nreturn ", var_export($catalogue, true), ";\n";
