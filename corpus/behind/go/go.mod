module crumple/corpus/planted

go 1.21
