package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/spanner"
	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
)

const (
	delay        = 5 * time.Minute
	leaseSeconds = 10
	transactions = 20
	largeBytes   = 3 << 19
)

var (
	mail      = map[string]any{"to": "ada@example.com", "copies": 2, "tags": []any{"a", "ü"}}
	scenarios = []Scenario{
		{"schema", schema},
		{"send_dml", sendDML},
		{"send_mutation", sendMutation},
		{"receive", receive},
		{"arrive", arrive},
		{"renew", renew},
		{"acknowledge_dml", acknowledgeDML},
		{"acknowledge_mutation", acknowledgeMutation},
		{"concurrent", concurrent},
		{"large", large},
		{"redeliver", redeliver},
		{"resume", resume},
		{"aborted", aborted},
		{"delayed", delayed},
		{"cancel", cancel},
	}
)

func noteText(id int64) string {
	return fmt.Sprintf("note %d", id)
}

// schema reads the schema back.
func schema(ctx context.Context, db *Database) (Saw, error) {
	answer, err := db.admin.GetDatabaseDdl(ctx, &databasepb.GetDatabaseDdlRequest{Database: db.path})
	if err != nil {
		return nil, err
	}
	return Saw{"ddl": answer.Statements}, nil
}

// sendDML inserts a message together with its order, and looks at both as rows.
func sendDML(ctx context.Context, db *Database) (Saw, error) {
	counts, err := db.write(
		ctx, bind(db.InsertOrder, 1, "new"), bind(db.SendMail, 1, "welcome", db.json(mail)),
	)
	if err != nil {
		return nil, err
	}
	state, err := db.state(ctx, 1)
	if err != nil {
		return nil, err
	}
	var stored spanner.GenericColumnValue
	if err := db.queryOne(ctx, bind(db.SelectMail, 1, "welcome"), &stored); err != nil {
		return nil, err
	}
	payload, err := db.decodeJSON(stored)
	if err != nil {
		return nil, err
	}
	received, err := db.receive(ctx, db.ReceiveMails, db.MailKey).take(1)
	return Saw{"counts": counts, "state": state, "stored": payload, "received": received}, err
}

// sendMutation sends with the client's Send mutation, together with the order's row.
func sendMutation(ctx context.Context, db *Database) (Saw, error) {
	_, err := db.client.Apply(ctx, []*spanner.Mutation{
		spanner.Insert(db.Orders, db.OrderColumns, []any{1, "new", 0}),
		spanner.Send(db.Mails, spanner.Key{1, "welcome"}, db.json(mail)),
	})
	if err != nil {
		return nil, err
	}
	_, err = db.client.ReadWriteTransaction(
		ctx, func(ctx context.Context, transaction *spanner.ReadWriteTransaction) error {
			if _, err := transaction.Update(ctx, bind(db.SetState, 1, "paid")); err != nil {
				return err
			}
			return transaction.BufferWrite([]*spanner.Mutation{
				spanner.Send(db.Notes, spanner.Key{1}, noteText(1)),
			})
		},
	)
	if err != nil {
		return nil, err
	}
	state, err := db.state(ctx, 1)
	if err != nil {
		return nil, err
	}
	mails, err := db.receive(ctx, db.ReceiveMails, db.MailKey).take(1)
	if err != nil {
		return nil, err
	}
	notes, err := db.receiveNotes(ctx).take(1)
	return Saw{"state": state, "mails": mails, "notes": notes}, err
}

// receive reads messages of all payload types, with everything that comes with them.
func receive(ctx context.Context, db *Database) (Saw, error) {
	before := time.Now()
	_, err := db.write(
		ctx,
		bind(db.InsertOrder, 1, "new"),
		bind(db.SendMail, 1, "welcome", db.json(mail)),
		bind(db.SendBlob, 1, []byte{0, 0xff, 0xfe, 'a'}),
		bind(db.SendNote, 1, noteText(1)),
		bind(db.SendNote, 2, noteText(2)),
	)
	if err != nil {
		return nil, err
	}
	streams := []struct {
		name   string
		stream *Receiver
		count  int
	}{
		{"mails", db.receive(ctx, db.ReceiveMails, db.MailKey), 1},
		{"blobs", db.receive(ctx, db.ReceiveBlobs, db.IDKey), 1},
		{"notes", db.receiveNotes(ctx), 2},
	}
	saw := Saw{"before": before}
	for _, open := range streams {
		received, err := open.stream.take(open.count)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", open.name, err)
		}
		saw[open.name], saw[open.name+"_columns"] = received, open.stream.columns()
	}
	saw["after"] = time.Now()
	return saw, nil
}

// arrive sends while a stream is open.
func arrive(ctx context.Context, db *Database) (Saw, error) {
	stream := db.receiveNotes(ctx)
	defer stream.close()
	var received []*Message
	for id := int64(1); id <= 3; id++ {
		if err := db.sendNotes(ctx, id); err != nil {
			return nil, err
		}
		message, err := stream.next()
		if err != nil {
			return nil, err
		}
		received = append(received, message)
	}
	return Saw{"ids": keysOf(received)}, nil
}

// Renewal is a row of RENEWLEASE, as it is printed.
type Renewal struct {
	Old     string     `json:"old"`
	New     *string    `json:"new"`
	Expires *time.Time `json:"expires"`
}

func (db *Database) renewNotes(ctx context.Context, tokens ...string) ([]Renewal, error) {
	renewals := []Renewal{}
	err := db.client.Single().Query(ctx, bind(db.RenewNotes, tokens)).Do(func(row *spanner.Row) error {
		var old string
		var fresh spanner.NullString
		var expires spanner.NullTime
		if err := row.Columns(&old, &fresh, &expires); err != nil {
			return err
		}
		renewal := Renewal{Old: old}
		if fresh.Valid {
			renewal.New = &fresh.StringVal
		}
		if expires.Valid {
			renewal.Expires = &expires.Time
		}
		renewals = append(renewals, renewal)
		return nil
	})
	return renewals, err
}

// renew extends leases: a running one beside one that is nonsense, again, and after the acknowledgment.
func renew(ctx context.Context, db *Database) (Saw, error) {
	if err := db.sendNotes(ctx, 1, 2); err != nil {
		return nil, err
	}
	received, err := db.receiveNotes(ctx).take(2)
	if err != nil {
		return nil, err
	}
	first, err := db.renewNotes(ctx, received[0].Token, "nonsense", received[1].Token)
	if err != nil || len(first) != 2 || first[0].New == nil {
		return Saw{"received": received, "first": first}, err
	}
	second, err := db.renewNotes(ctx, *first[0].New)
	if err != nil || len(second) != 1 || second[0].New == nil {
		return Saw{"received": received, "first": first, "second": second}, err
	}
	for _, message := range received {
		if err := db.acknowledgeNote(ctx, message.Key[0].(int64)); err != nil {
			return nil, err
		}
	}
	late, err := db.renewNotes(ctx, *second[0].New)
	return Saw{"received": received, "first": first, "second": second, "late": late}, err
}

// acknowledgeDML deletes the message in the transaction of the work's own write, twice.
func acknowledgeDML(ctx context.Context, db *Database) (Saw, error) {
	if _, err := db.write(ctx, bind(db.InsertOrder, 1, "new"), bind(db.SendNote, 1, noteText(1))); err != nil {
		return nil, err
	}
	if _, err := db.receiveNotes(ctx).take(1); err != nil {
		return nil, err
	}
	counts, err := db.write(ctx, bind(db.SetState, 1, "done"), bind(db.AcknowledgeNote, 1))
	if err != nil {
		return nil, err
	}
	_, second := db.write(ctx, bind(db.SetState, 1, "twice"), bind(db.AcknowledgeNote, 1))
	state, err := db.state(ctx, 1)
	if err != nil {
		return nil, err
	}
	var left int64
	err = db.queryOne(ctx, bind(db.CountNotes), &left)
	return Saw{"counts": counts, "second": codeOf(second), "state": state, "left": left}, err
}

// acknowledgeMutation uses the client's Ack mutation: once, twice, and once more without minding.
func acknowledgeMutation(ctx context.Context, db *Database) (Saw, error) {
	if _, err := db.write(ctx, bind(db.InsertOrder, 1, "new"), bind(db.SendNote, 1, noteText(1))); err != nil {
		return nil, err
	}
	if _, err := db.receiveNotes(ctx).take(1); err != nil {
		return nil, err
	}
	saw := Saw{}
	steps := []struct {
		state string
		ack   *spanner.Mutation
	}{
		{"done", spanner.Ack(db.Notes, spanner.Key{1})},
		{"twice", spanner.Ack(db.Notes, spanner.Key{1})},
		{"ignored", spanner.Ack(db.Notes, spanner.Key{1}, spanner.WithIgnoreNotFound(true))},
	}
	for _, step := range steps {
		_, outcome := db.client.Apply(ctx, []*spanner.Mutation{
			spanner.Update(db.Orders, db.OrderColumns[:2], []any{1, step.state}), step.ack,
		})
		state, err := db.state(ctx, 1)
		if err != nil {
			return nil, err
		}
		saw[step.state] = []any{codeOf(outcome), state}
	}
	return saw, nil
}

// concurrent has transactions that read, write and send at the same time.
func concurrent(ctx context.Context, db *Database) (Saw, error) {
	if _, err := db.write(ctx, bind(db.InsertOrder, 1, "new")); err != nil {
		return nil, err
	}
	var running sync.WaitGroup
	failures := make([]error, transactions)
	for id := range transactions {
		running.Go(func() { failures[id] = db.countAndSend(ctx, int64(id)) })
	}
	running.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	var changes, notes int64
	if err := db.queryOne(ctx, bind(db.SelectChanges, 1), &changes); err != nil {
		return nil, err
	}
	err := db.queryOne(ctx, bind(db.CountNotes), &notes)
	return Saw{"changes": changes, "notes": notes}, err
}

func (db *Database) countAndSend(ctx context.Context, id int64) error {
	_, err := db.client.ReadWriteTransaction(
		ctx, func(ctx context.Context, transaction *spanner.ReadWriteTransaction) error {
			var changes int64
			read := func(row *spanner.Row) error { return row.Column(0, &changes) }
			if err := transaction.Query(ctx, bind(db.SelectChanges, 1)).Do(read); err != nil {
				return err
			}
			if _, err := transaction.Update(ctx, bind(db.SetChanges, 1, changes+1)); err != nil {
				return err
			}
			_, err := transaction.Update(ctx, bind(db.SendNote, id, noteText(id)))
			return err
		},
	)
	return err
}

// large sends a payload that is larger than a chunk of a stream.
func large(ctx context.Context, db *Database) (Saw, error) {
	text := strings.Repeat("0123456789abcdeü", largeBytes/17)
	if _, err := db.write(ctx, bind(db.SendNote, 1, text)); err != nil {
		return nil, err
	}
	received, err := db.receiveNotes(ctx).take(1)
	if err != nil {
		return nil, err
	}
	return Saw{"sent": digest(text), "received": digest(received[0].Payload.(string))}, nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// redeliver lets a lease run out.
func redeliver(ctx context.Context, db *Database) (Saw, error) {
	if err := db.sendNotes(ctx, 1); err != nil {
		return nil, err
	}
	stream := db.receiveNotes(ctx)
	defer stream.close()
	first, err := stream.next()
	if err != nil {
		return nil, err
	}
	if err := ask(Saw{"ask": "advance", "seconds": leaseSeconds}); err != nil {
		return nil, err
	}
	second, err := stream.next()
	return Saw{"received": []*Message{first, second}}, err
}

// resume has the stream broken after its first message, and for good after its second, which comes only if
// the client has resumed it.
func resume(ctx context.Context, db *Database) (Saw, error) {
	if err := ask(Saw{"ask": "break_stream", "sql": db.ReceiveNotes}); err != nil {
		return nil, err
	}
	stream := db.receiveNotes(ctx)
	defer stream.close()
	var received []*Message
	for id := int64(1); id <= 2; id++ {
		if err := db.sendNotes(ctx, id); err != nil {
			return nil, err
		}
		message, err := stream.next()
		if err != nil {
			return nil, err
		}
		received = append(received, message)
	}
	_, end := stream.next()
	return Saw{"ids": keysOf(received), "code": codeOf(end)}, nil
}

// aborted has the first commit aborted; the client runs the transaction again.
func aborted(ctx context.Context, db *Database) (Saw, error) {
	if err := ask(Saw{"ask": "abort_commit"}); err != nil {
		return nil, err
	}
	runs := 0
	_, err := db.client.ReadWriteTransaction(
		ctx, func(ctx context.Context, transaction *spanner.ReadWriteTransaction) error {
			runs++
			_, err := transaction.Update(ctx, bind(db.SendNote, 1, noteText(1)))
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	var notes int64
	err = db.queryOne(ctx, bind(db.CountNotes), &notes)
	return Saw{"runs": runs, "notes": notes}, err
}

// delayed sends messages for later, which come when the gateway's clock is there.
func delayed(ctx context.Context, db *Database) (Saw, error) {
	due := time.Now().Add(delay)
	if _, err := db.write(ctx, bind(db.SendNoteLater, 1, noteText(1), due)); err != nil {
		return nil, err
	}
	_, err := db.client.Apply(ctx, []*spanner.Mutation{
		spanner.Send(db.Notes, spanner.Key{2}, noteText(2), spanner.WithDeliveryTime(due)),
	})
	if err != nil {
		return nil, err
	}
	stream := db.receiveNotes(ctx)
	defer stream.close()
	var received []*Message
	for id := int64(3); id <= 4; id++ {
		if err := db.sendNotes(ctx, id); err != nil {
			return nil, err
		}
		message, err := stream.next()
		if err != nil {
			return nil, err
		}
		if err := db.acknowledgeNote(ctx, id); err != nil {
			return nil, err
		}
		received = append(received, message)
	}
	if err := ask(Saw{"ask": "advance", "seconds": delay.Seconds()}); err != nil {
		return nil, err
	}
	late, err := stream.take(2)
	if err != nil {
		return nil, err
	}
	return Saw{"due": due, "now": keysOf(received), "later": keysOf(late), "messages": late}, nil
}

// cancel closes a stream between two messages, and cancels one that waits; neither takes the next message.
func cancel(ctx context.Context, db *Database) (Saw, error) {
	if err := db.sendNotes(ctx, 1, 2); err != nil {
		return nil, err
	}
	started := time.Now()
	first, err := db.receiveNotes(ctx).take(1)
	if err != nil {
		return nil, err
	}
	closed := time.Since(started)

	waiting, stop := context.WithCancel(ctx)
	defer stop()
	idle := db.receiveNotes(waiting)
	defer idle.close()
	if err := db.sendNotes(ctx, 3); err != nil {
		return nil, err
	}
	second, err := idle.next()
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := idle.next()
		ended <- err
	}()
	started = time.Now()
	stop()
	outcome := <-ended
	canceled := time.Since(started)

	started = time.Now()
	if err := db.sendNotes(ctx, 4); err != nil {
		return nil, err
	}
	third, err := db.receiveNotes(ctx).take(1)
	if err != nil {
		return nil, err
	}
	return Saw{
		"ids":            keysOf([]*Message{first[0], second, third[0]}),
		"close_seconds":  closed.Seconds(),
		"cancel_seconds": canceled.Seconds(),
		"cancel_code":    codeOf(outcome),
		"next_seconds":   time.Since(started).Seconds(),
	}, nil
}
