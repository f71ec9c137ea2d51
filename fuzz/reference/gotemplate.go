package main

import (
	"errors"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// The length after which rendering ends.
const maxOutput = 4 << 20

type limitedOutput struct{ strings.Builder }

func (output *limitedOutput) Write(text []byte) (int, error) {
	if output.Len()+len(text) > maxOutput {
		return 0, errors.New("the output is too long")
	}
	return output.Builder.Write(text)
}

// renderTemplate renders a template of a ModRule: the functions of Sprig without those that read the environment.
func renderTemplate(text string, data any) (any, error) {
	functions := sprig.TxtFuncMap()
	delete(functions, "env")
	delete(functions, "expandenv")
	delete(functions, "getHostByName")
	parsed, err := template.New("t").Funcs(functions).Parse(text)
	if err != nil {
		return nil, err
	}
	var output limitedOutput
	if err := parsed.Execute(&output, data); err != nil {
		return nil, err
	}
	return output.String(), nil
}
