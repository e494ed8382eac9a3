$| = 1;
while (<STDIN>) {
    my ($variant, $side, @moves) = split;
    my %taken = map { $_ => 1 } @moves;
    my $cell = 0;
    $cell++ while $taken{$cell};
    print "$cell\n";
}
