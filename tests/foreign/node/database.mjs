// A fresh database with the table and the queues of the scenarios.

import {Spanner} from '@google-cloud/spanner';

import {Receiver} from './receiver.mjs';

// Without this the client runs a statement that failed before its first row twice more, seconds apart.
const ONCE = {retryRequestOptions: {noResponseRetries: 0}};

export const noteText = id => `note ${id}`;

export class Database {
  constructor(statements, postgresql, client, readDdl) {
    this.statements = statements;
    this.postgresql = postgresql;
    this.client = client;
    this.readDdl = readDdl;
  }

  // Gives a statement its parameters: @p1 or $1, and so on.
  bind(name, ...values) {
    const params = Object.fromEntries(values.map((value, index) => [`p${index + 1}`, value]));
    return {sql: this.statements[name], params};
  }

  // Runs DML statements in one read-write transaction and returns their row counts.
  async write(...statements) {
    return this.client.runTransactionAsync(async transaction => {
      const counts = [];
      try {
        for (const statement of statements) {
          const [count] = await transaction.runUpdate({...statement, gaxOptions: ONCE});
          counts.push(count);
        }
      } catch (error) {
        // The client itself leaves a transaction open whose work failed.
        await transaction.rollback();
        throw error;
      }
      await transaction.commit();
      return counts;
    });
  }

  insertOrder() {
    return this.bind('insert_order', 1, 'new');
  }

  setState(state) {
    return this.bind('set_state', 1, state);
  }

  sendNote(id) {
    return this.bind('send_note', id, noteText(id));
  }

  acknowledgeNote(id) {
    return this.bind('acknowledge_note', id);
  }

  receiveNotes() {
    return this.receive('receive_notes', 'id_key');
  }

  receive(name, key) {
    return new Receiver(this, this.bind(name), this.statements[key]);
  }

  async state() {
    return this.queryOne(this.bind('select_state', 1));
  }

  async changes() {
    return Number(await this.queryOne(this.bind('select_changes', 1)));
  }

  async countNotes() {
    return Number(await this.queryOne(this.bind('count_notes')));
  }

  // Reads the only column of the only row.
  async queryOne(statement) {
    const [rows] = await this.client.run(statement);
    return rows[0][0].value;
  }

  // Wraps a value in the client's JSON type of the dialect.
  json(value) {
    return this.postgresql ? Spanner.pgJsonb(value) : value;
  }

  decodeJson(value) {
    return this.postgresql ? JSON.parse(value.toString()) : value;
  }
}

// Returns the number of the status code, which all languages share; 0 when the work succeeds.
export async function codeOf(work) {
  try {
    await work;
  } catch (error) {
    return error.code;
  }
  return 0;
}
