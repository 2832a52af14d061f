// Command foreign drives Spanner queues with the official Go client.
//
//	SPANNER_EMULATOR_HOST=localhost:9010 foreign statements.json googlesql all
//
// It runs one scenario, or all of them, each in a database of its own, and prints one JSON line for each:
// {"scenario": NAME, "saw": {...}} or {"scenario": NAME, "error": TEXT}. In between it may ask its parent for
// something that no client can do, {"ask": "advance", "seconds": 300}, and waits for a line in answer.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

const scenarioTimeout = 30 * time.Second

// Saw is what a scenario observed, by name.
type Saw map[string]any

// Scenario does one thing with a fresh database and tells what it saw.
type Scenario struct {
	name string
	run  Run
}

var answers = bufio.NewReader(os.Stdin)

func printLine(line any) {
	text, err := json.Marshal(line)
	if err != nil {
		text = fmt.Appendf(nil, `{"error": %q}`, err.Error())
	}
	fmt.Println(string(text))
}

// ask has the parent do something and waits until it is done.
func ask(request Saw) error {
	printLine(request)
	_, err := answers.ReadString('\n')
	return err
}

func perform(scenario Scenario, dialect string, statements *Statements) {
	ctx, cancel := context.WithTimeout(context.Background(), scenarioTimeout)
	defer cancel()
	saw, err := inFreshDatabase(ctx, dialect, statements, scenario.run)
	if err != nil {
		printLine(Saw{"scenario": scenario.name, "error": err.Error()})
		return
	}
	printLine(Saw{"scenario": scenario.name, "saw": saw})
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: foreign STATEMENTS googlesql|postgresql SCENARIO|all")
		os.Exit(2)
	}
	dialect, wanted := os.Args[2], os.Args[3]
	statements, err := readStatements(os.Args[1], dialect)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ran := false
	for _, scenario := range scenarios {
		if wanted == "all" || wanted == scenario.name {
			perform(scenario, dialect, statements)
			ran = true
		}
	}
	if !ran {
		fmt.Fprintf(os.Stderr, "unknown scenario %q\n", wanted)
		os.Exit(2)
	}
}
