package main

import (
	"encoding/json"
	"fmt"
	"os"

	"cloud.google.com/go/spanner"
)

// Statements are the texts and names of one dialect, which all languages share.
type Statements struct {
	Create          []string `json:"create"`
	Update          []string `json:"update"`
	Orders          string   `json:"orders"`
	OrderColumns    []string `json:"order_columns"`
	Mails           string   `json:"mails"`
	Notes           string   `json:"notes"`
	MailKey         []string `json:"mail_key"`
	IDKey           []string `json:"id_key"`
	Payload         string   `json:"payload"`
	DeliverTime     string   `json:"deliver_time"`
	Expires         string   `json:"expires"`
	Token           string   `json:"token"`
	Last            string   `json:"last"`
	InsertOrder     string   `json:"insert_order"`
	SetState        string   `json:"set_state"`
	SetChanges      string   `json:"set_changes"`
	SelectState     string   `json:"select_state"`
	SelectChanges   string   `json:"select_changes"`
	CountNotes      string   `json:"count_notes"`
	SelectMail      string   `json:"select_mail"`
	SendMail        string   `json:"send_mail"`
	SendBlob        string   `json:"send_blob"`
	SendNote        string   `json:"send_note"`
	SendNoteLater   string   `json:"send_note_later"`
	ReceiveMails    string   `json:"receive_mails"`
	ReceiveBlobs    string   `json:"receive_blobs"`
	ReceiveNotes    string   `json:"receive_notes"`
	RenewNotes      string   `json:"renew_notes"`
	AcknowledgeNote string   `json:"acknowledge_note"`
}

func readStatements(path, dialect string) (*Statements, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var dialects map[string]*Statements
	if err := json.Unmarshal(text, &dialects); err != nil {
		return nil, err
	}
	statements, ok := dialects[dialect]
	if !ok {
		return nil, fmt.Errorf("unknown dialect %q", dialect)
	}
	return statements, nil
}

// bind gives a statement its parameters: @p1 or $1, and so on.
func bind(sql string, values ...any) spanner.Statement {
	statement := spanner.NewStatement(sql)
	for index, value := range values {
		statement.Params[fmt.Sprintf("p%d", index+1)] = value
	}
	return statement
}
