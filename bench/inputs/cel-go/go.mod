module cel-go-bench

go 1.24

require github.com/google/cel-go v0.30.0
