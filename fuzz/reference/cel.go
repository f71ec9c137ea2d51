package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"google.golang.org/protobuf/types/known/structpb"
)

var environment = must(cel.NewEnv(
	cel.Variable("object", cel.DynType),
	cel.Variable("x", cel.DynType),
	cel.OptionalTypes(),
	cel.EnableIdentifierEscapeSyntax(),
	ext.Bindings(),
	ext.TwoVarComprehensions(),
	ext.Encoders(),
	ext.Lists(),
	ext.Math(),
	ext.Network(),
	ext.Regex(),
	ext.Sets(),
	ext.Strings(),
))

func must(environment *cel.Env, err error) *cel.Env {
	if err != nil {
		panic(err)
	}
	return environment
}

// The cost after which an evaluation ends.
const costLimit = 1_000_000

// evaluateChecked evaluates an expression whose types were checked.
func evaluateChecked(text string, data any) (any, error) {
	ast, issues := environment.Compile(text)
	if issues.Err() != nil {
		return nil, fmt.Errorf("compile: %w", issues.Err())
	}
	return evaluateAst(ast, data)
}

// evaluateUnchecked evaluates an expression whose types are only known when it runs.
func evaluateUnchecked(text string, data any) (any, error) {
	ast, issues := environment.Parse(text)
	if issues.Err() != nil {
		return nil, fmt.Errorf("parse: %w", issues.Err())
	}
	return evaluateAst(ast, data)
}

// evaluateAst evaluates over {"object", "x"}; the value has its type beside it.
func evaluateAst(ast *cel.Ast, data any) (any, error) {
	program, err := environment.Program(ast, cel.CostLimit(costLimit))
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	variables, ok := data.(map[string]any)
	if !ok {
		return nil, errors.New("the data must be an object")
	}
	result, _, err := program.Eval(integers(variables).(map[string]any))
	if err != nil {
		return nil, err
	}
	return map[string]any{"type": result.Type().TypeName(), "value": plain(result)}, nil
}

// plain returns the value as JSON has it, or null where it has none.
func plain(value ref.Val) any {
	if number, ok := value.(types.Double); ok {
		if math.IsNaN(float64(number)) || math.IsInf(float64(number), 0) {
			return fmt.Sprint(float64(number))
		}
		return float64(number)
	}
	switch number := value.(type) {
	case types.Int:
		return int64(number)
	case types.Uint:
		return uint64(number)
	}
	written, err := value.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	if err != nil {
		return nil
	}
	text, err := written.(*structpb.Value).MarshalJSON()
	if err != nil {
		return nil
	}
	return json.RawMessage(text)
}

// integers turns whole numbers, which encoding/json reads as float64, into int64, as Kubernetes does.
func integers(value any) any {
	switch typed := value.(type) {
	case map[string]any:
		for key, item := range typed {
			typed[key] = integers(item)
		}
	case []any:
		for index, item := range typed {
			typed[index] = integers(item)
		}
	case float64:
		if typed == math.Trunc(typed) && math.Abs(typed) < 1<<53 {
			return int64(typed)
		}
	}
	return value
}
