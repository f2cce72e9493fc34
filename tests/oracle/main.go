// Command oracle answers merge cases with the results of the reference implementations:
// apimachinery's strategic merge patches and managed fields, kyaml's two-way and three-way merges,
// kstatus' readiness.
//
// It reads one JSON case per line from stdin and writes one JSON answer per line to
// stdout, in the same order. It does not depend on the program under test.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
)

// A request is one case. The operation decides which fields are used.
type request struct {
	// apply, two-way, three-way, merge2, merge3, status, manage, measure-managed, field-sets or measure
	Operation string `json:"operation"`

	// The texts of the objects by their role: JSON for patches, YAML for merges.
	Sides map[string]string `json:"sides"`

	// For strategic patches: the kind, as "apps/v1 Deployment", and whether changes that
	// others made are overwritten. For field sets: the operation.
	Kind      string `json:"kind"`
	Overwrite bool   `json:"overwrite"`

	// For merges: the keys that lists are merged by where no schema is known (none: such
	// lists are replaced), and whether new entries go to the front.
	Infer   []string `json:"infer"`
	Prepend bool     `json:"prepend"`

	// How often to solve the case. Where the order of Go's maps decides, the answers differ.
	Repeat int `json:"repeat"`

	// To manage: the requests that write one object, in order.
	Steps []step `json:"steps"`

	// To measure: how many objects are patched, or how often the steps are run.
	Count int `json:"count"`
}

// An answer has exactly one field.
type answer struct {
	Result   json.RawMessage `json:"result,omitempty"`
	Error    string          `json:"error,omitempty"`
	Panic    string          `json:"panic,omitempty"`
	Unstable []string        `json:"unstable,omitempty"`
}

func solve(r *request) (a answer) {
	defer func() {
		if p := recover(); p != nil {
			a = answer{Panic: fmt.Sprint(p)}
		}
	}()
	var result []byte
	var err error
	switch r.Operation {
	case "apply":
		result, err = apply(r)
	case "two-way":
		result, err = createTwoWay(r)
	case "three-way":
		result, err = createThreeWay(r)
	case "merge2":
		result, err = mergeTwo(r)
	case "merge3":
		result, err = mergeThree(r)
	case "status":
		result, err = readiness(r)
	case "manage":
		result, err = manage(r)
	case "measure-managed":
		result, err = measureManaged(r)
	case "field-sets":
		result, err = fieldSets(r)
	case "measure":
		result, err = measure(r)
	default:
		err = fmt.Errorf("unknown operation %q", r.Operation)
	}
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Result: result}
}

// One answer for all tries, or an error if they differ.
func solveRepeatedly(r *request) answer {
	first := solve(r)
	for i := 1; i < r.Repeat; i++ {
		again := solve(r)
		failed := first.Result == nil
		if failed != (again.Result == nil) || string(first.Result) != string(again.Result) {
			return answer{Unstable: []string{show(first), show(again)}}
		}
	}
	return first
}

func show(a answer) string {
	line, err := json.Marshal(a)
	if err != nil {
		return err.Error()
	}
	return string(line)
}

func serve(in *bufio.Reader, out *bufio.Writer) error {
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
		var r request
		a := answer{}
		if err := json.Unmarshal(line, &r); err != nil {
			a.Error = "no case: " + err.Error()
		} else {
			a = solveRepeatedly(&r)
		}
		if _, err := out.WriteString(show(a) + "\n"); err != nil {
			return err
		}
		if in.Buffered() > 0 {
			continue
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

func main() {
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	if err := serve(bufio.NewReaderSize(os.Stdin, 1<<16), out); err != nil {
		log.Fatal(err)
	}
	if err := out.Flush(); err != nil {
		log.Fatal(err)
	}
}
