package main

import (
	"context"

	"github.com/PaesslerAG/gval"
	"github.com/PaesslerAG/jsonpath"
)

var paths = gval.Full(jsonpath.PlaceholderExtension())

// evaluateJSONPath evaluates an expression of gval with paths.
func evaluateJSONPath(text string, data any) (any, error) {
	evaluable, err := paths.NewEvaluable(text)
	if err != nil {
		return nil, err
	}
	return evaluable(context.Background(), data)
}
