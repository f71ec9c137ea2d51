package main

import (
	"context"
	"fmt"

	"github.com/PaesslerAG/gval"
	"github.com/PaesslerAG/jsonpath"
)

var paths = gval.Full(
	jsonpath.PlaceholderExtension(),
	gval.Function("length", length),
	gval.Function("isEmpty", func(value any) (any, error) { count, err := length(value); return count == 0, err }),
	gval.Function("isNotEmpty", func(value any) (any, error) { count, err := length(value); return count != 0, err }),
)

// length counts as KubeMod documents it.
func length(value any) (float64, error) {
	switch typed := value.(type) {
	case nil:
		return 0, nil
	case string:
		return float64(len(typed)), nil
	case []any:
		return float64(len(typed)), nil
	case map[string]any:
		return float64(len(typed)), nil
	}
	return 0, fmt.Errorf("%T has no length", value)
}

// evaluateJSONPath evaluates an expression of gval with paths.
func evaluateJSONPath(text string, data any) (any, error) {
	evaluable, err := paths.NewEvaluable(text)
	if err != nil {
		return nil, err
	}
	return evaluable(context.Background(), data)
}
