package main

import (
	"encoding/json"
	"errors"

	"github.com/go-logr/logr"
	"github.com/kyverno/kyverno/pkg/config"
	"github.com/kyverno/kyverno/pkg/engine/jmespath"
	"github.com/kyverno/kyverno/pkg/engine/validate"
)

var queries = jmespath.New(config.NewDefaultConfiguration(false))

// searchJMESPath evaluates an expression with the functions of Kyverno.
func searchJMESPath(text string, data any) (any, error) {
	query, err := queries.Query(text)
	if err != nil {
		return nil, err
	}
	return query.Search(data)
}

// matchPattern compares the data with a pattern, and returns `pass`, `fail` or `skip`.
func matchPattern(text string, data any) (any, error) {
	var pattern any
	if err := json.Unmarshal([]byte(text), &pattern); err != nil {
		return nil, err
	}
	err := validate.MatchPattern(logr.Discard(), data, pattern)
	var found *validate.PatternError
	switch {
	case err == nil:
		return "pass", nil
	case errors.As(err, &found) && found.Skip:
		return "skip", nil
	default:
		return "fail", nil
	}
}
