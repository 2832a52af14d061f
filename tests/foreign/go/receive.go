package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"cloud.google.com/go/spanner"
	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/api/iterator"
)

// Message is a received message, as it is printed.
type Message struct {
	Key         []any     `json:"key"`
	Payload     any       `json:"payload"`
	DeliverTime time.Time `json:"deliver_time"`
	Expires     time.Time `json:"expires"`
	Token       string    `json:"token"`
	Last        bool      `json:"last"`
}

// Receiver is an open stream of messages.
type Receiver struct {
	db   *Database
	rows *spanner.RowIterator
	key  []string
}

func (db *Database) receiveNotes(ctx context.Context) *Receiver {
	return db.receive(ctx, db.ReceiveNotes, db.IDKey)
}

func (db *Database) receive(ctx context.Context, sql string, key []string) *Receiver {
	return &Receiver{db, db.client.Single().Query(ctx, spanner.NewStatement(sql)), key}
}

// next waits for the next message.
func (receiver *Receiver) next() (*Message, error) {
	row, err := receiver.rows.Next()
	if err == iterator.Done {
		return nil, fmt.Errorf("the stream ended: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return receiver.read(row)
}

// take waits for some messages and closes the stream.
func (receiver *Receiver) take(count int) ([]*Message, error) {
	defer receiver.close()
	var messages []*Message
	for len(messages) < count {
		message, err := receiver.next()
		if err != nil {
			return nil, err
		}
		messages = append(messages, message)
	}
	return messages, nil
}

func (receiver *Receiver) close() {
	receiver.rows.Stop()
}

func (receiver *Receiver) read(row *spanner.Row) (*Message, error) {
	message, db := &Message{}, receiver.db
	for _, name := range receiver.key {
		value, err := receiver.column(row, name)
		if err != nil {
			return nil, err
		}
		message.Key = append(message.Key, value)
	}
	var err error
	if message.Payload, err = receiver.column(row, db.Payload); err != nil {
		return nil, err
	}
	fields := map[string]any{
		db.DeliverTime: &message.DeliverTime,
		db.Expires:     &message.Expires,
		db.Token:       &message.Token,
		db.Last:        &message.Last,
	}
	for name, field := range fields {
		if err := row.ColumnByName(name, field); err != nil {
			return nil, err
		}
	}
	return message, nil
}

// column decodes a key or a payload with the client's own types.
func (receiver *Receiver) column(row *spanner.Row, name string) (any, error) {
	var generic spanner.GenericColumnValue
	if err := row.ColumnByName(name, &generic); err != nil {
		return nil, err
	}
	switch generic.Type.Code {
	case spannerpb.TypeCode_INT64:
		var number int64
		err := generic.Decode(&number)
		return number, err
	case spannerpb.TypeCode_BYTES:
		var bytes []byte
		err := generic.Decode(&bytes)
		return hex.EncodeToString(bytes), err
	case spannerpb.TypeCode_JSON:
		return receiver.db.decodeJSON(generic)
	default:
		var text string
		err := generic.Decode(&text)
		return text, err
	}
}

// columns names the columns of the stream and their types, after a message has come.
func (receiver *Receiver) columns() [][]string {
	var columns [][]string
	for _, field := range receiver.rows.Metadata.RowType.Fields {
		kind := field.Type.Code.String()
		if field.Type.TypeAnnotation != spannerpb.TypeAnnotationCode_TYPE_ANNOTATION_CODE_UNSPECIFIED {
			kind = field.Type.TypeAnnotation.String()
		}
		columns = append(columns, []string{field.Name, kind})
	}
	return columns
}

func keysOf(messages []*Message) []any {
	keys := make([]any, 0, len(messages))
	for _, message := range messages {
		keys = append(keys, message.Key[0])
	}
	return keys
}
