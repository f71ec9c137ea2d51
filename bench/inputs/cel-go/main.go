// Measures cel-go on the expressions that are given, without and with a cost limit.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/google/cel-go/cel"
)

func main() {
	var pod map[string]any
	check(json.Unmarshal([]byte(os.Args[1]), &pod))
	env, err := cel.NewEnv(cel.Variable("object", cel.DynType))
	check(err)
	fmt.Println("| expression | ns | ns with a cost limit |\n|---|---:|---:|")
	for _, text := range os.Args[2:] {
		ast, issues := env.Compile(text)
		check(issues.Err())
		plain, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize))
		check(err)
		limited, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost), cel.CostLimit(1_000_000))
		check(err)
		fmt.Printf("| %s | %d | %d |\n", text, measure(plain, pod), measure(limited, pod))
	}
}

func measure(program cel.Program, pod map[string]any) int64 {
	const rounds = 100_000
	best := int64(1 << 62)
	for range 5 {
		start := time.Now()
		for range rounds {
			_, _, err := program.Eval(map[string]any{"object": pod})
			check(err)
		}
		best = min(best, time.Since(start).Nanoseconds()/rounds)
	}
	return best
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
