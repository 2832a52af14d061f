package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"cloud.google.com/go/spanner"
	database "cloud.google.com/go/spanner/admin/database/apiv1"
	"cloud.google.com/go/spanner/admin/database/apiv1/databasepb"
	instance "cloud.google.com/go/spanner/admin/instance/apiv1"
	"cloud.google.com/go/spanner/admin/instance/apiv1/instancepb"
	"google.golang.org/grpc/codes"
)

const (
	project      = "projects/foreign"
	instanceName = project + "/instances/go-client"
)

// Run does something with a database.
type Run func(ctx context.Context, db *Database) (Saw, error)

// Database is a fresh database with the table and the queues of the scenarios.
type Database struct {
	*Statements
	path       string
	postgresql bool
	admin      *database.DatabaseAdminClient
	client     *spanner.Client
}

func inFreshDatabase(ctx context.Context, dialect string, statements *Statements, run Run) (Saw, error) {
	if err := ensureInstance(ctx); err != nil {
		return nil, err
	}
	admin, err := database.NewDatabaseAdminClient(ctx)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	db := &Database{Statements: statements, postgresql: dialect == "postgresql", admin: admin}
	if err := db.create(ctx); err != nil {
		return nil, err
	}
	db.client, err = spanner.NewClient(ctx, db.path)
	if err != nil {
		return nil, err
	}
	defer db.client.Close()
	return run(ctx, db)
}

func ensureInstance(ctx context.Context) error {
	admin, err := instance.NewInstanceAdminClient(ctx)
	if err != nil {
		return err
	}
	defer admin.Close()
	operation, err := admin.CreateInstance(ctx, &instancepb.CreateInstanceRequest{
		Parent:     project,
		InstanceId: "go-client",
		Instance: &instancepb.Instance{
			Config:      project + "/instanceConfigs/emulator-config",
			DisplayName: "Go client",
			NodeCount:   1,
		},
	})
	if err == nil {
		_, err = operation.Wait(ctx)
	}
	if spanner.ErrCode(err) == codes.AlreadyExists {
		return nil
	}
	return err
}

func (db *Database) create(ctx context.Context) error {
	id, request := freshID(), &databasepb.CreateDatabaseRequest{Parent: instanceName}
	request.CreateStatement = "CREATE DATABASE `" + id + "`"
	if db.postgresql {
		request.CreateStatement = `CREATE DATABASE "` + id + `"`
		request.DatabaseDialect = databasepb.DatabaseDialect_POSTGRESQL
	}
	request.ExtraStatements = db.Create
	creation, err := db.admin.CreateDatabase(ctx, request)
	if err != nil {
		return err
	}
	if _, err := creation.Wait(ctx); err != nil {
		return err
	}
	db.path = instanceName + "/databases/" + id
	change, err := db.admin.UpdateDatabaseDdl(
		ctx, &databasepb.UpdateDatabaseDdlRequest{Database: db.path, Statements: db.Update},
	)
	if err != nil {
		return err
	}
	return change.Wait(ctx)
}

func freshID() string {
	random := make([]byte, 8)
	_, _ = rand.Read(random)
	return "db-" + hex.EncodeToString(random)
}

// write runs DML statements in one read-write transaction and returns their row counts.
func (db *Database) write(ctx context.Context, statements ...spanner.Statement) ([]int64, error) {
	var counts []int64
	_, err := db.client.ReadWriteTransaction(
		ctx, func(ctx context.Context, transaction *spanner.ReadWriteTransaction) error {
			counts = counts[:0]
			for _, statement := range statements {
				count, err := transaction.Update(ctx, statement)
				if err != nil {
					return err
				}
				counts = append(counts, count)
			}
			return nil
		},
	)
	return counts, err
}

// sendNotes sends notes with these ids in one transaction.
func (db *Database) sendNotes(ctx context.Context, ids ...int64) error {
	var statements []spanner.Statement
	for _, id := range ids {
		statements = append(statements, bind(db.SendNote, id, noteText(id)))
	}
	_, err := db.write(ctx, statements...)
	return err
}

func (db *Database) acknowledgeNote(ctx context.Context, id int64) error {
	_, err := db.write(ctx, bind(db.AcknowledgeNote, id))
	return err
}

// queryOne reads the only column of the only row.
func (db *Database) queryOne(ctx context.Context, statement spanner.Statement, value any) error {
	rows := db.client.Single().Query(ctx, statement)
	defer rows.Stop()
	row, err := rows.Next()
	if err != nil {
		return err
	}
	return row.Column(0, value)
}

func (db *Database) state(ctx context.Context, order int64) (state string, err error) {
	err = db.queryOne(ctx, bind(db.SelectState, order), &state)
	return state, err
}

// json wraps a value in the client's JSON type of the dialect.
func (db *Database) json(value any) any {
	if db.postgresql {
		return spanner.PGJsonB{Value: value, Valid: true}
	}
	return spanner.NullJSON{Value: value, Valid: true}
}

func (db *Database) decodeJSON(value spanner.GenericColumnValue) (any, error) {
	if db.postgresql {
		var decoded spanner.PGJsonB
		err := value.Decode(&decoded)
		return decoded.Value, err
	}
	var decoded spanner.NullJSON
	err := value.Decode(&decoded)
	return decoded.Value, err
}

// codeOf returns the number of the status code, which all languages share.
func codeOf(err error) int {
	return int(spanner.ErrCode(err))
}
