// Command reference answers as the original programs do, for comparison. Each line of standard input is a JSON object
// {"language", "text", "data"}, and each line of standard output {"value"} or {"error"}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

type question struct {
	Language string          `json:"language"`
	Text     string          `json:"text"`
	Data     json.RawMessage `json:"data,omitempty"`
}

type answer struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
}

// A language turns a text and data into a value that can be written as JSON.
type language func(text string, data any) (any, error)

var languages = map[string]language{
	"cel":             evaluateUnchecked,
	"cel_checked":     evaluateChecked,
	"gotemplate":      renderTemplate,
	"jmespath":        searchJMESPath,
	"jsonpath":        evaluateJSONPath,
	"kyverno_pattern": matchPattern,
	"yaml":            readYAML,
}

// The time after which an answer is given up; the original programs have no limit of their own.
const timeout = 2 * time.Second

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		if err := output.Encode(reply(asked)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
}

func reply(asked question) answer {
	done := make(chan answer, 1)
	go func() {
		value, err := evaluate(asked)
		if err != nil {
			done <- answer{Error: err.Error()}
			return
		}
		done <- answer{Value: value}
	}()
	select {
	case said := <-done:
		return said
	case <-time.After(timeout):
		return answer{Error: "timeout"}
	}
}

func evaluate(asked question) (written json.RawMessage, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	evaluator, found := languages[asked.Language]
	if !found {
		return nil, fmt.Errorf("unknown language %q", asked.Language)
	}
	var data any
	if len(asked.Data) > 0 {
		if err := json.Unmarshal(asked.Data, &data); err != nil {
			return nil, err
		}
	}
	value, err := evaluator(asked.Text, data)
	if err != nil {
		return nil, err
	}
	written, err = json.Marshal(value)
	if err != nil {
		// The evaluation has a value; only JSON has none for it.
		return json.RawMessage(`{"unwritable":true}`), nil
	}
	return written, nil
}
