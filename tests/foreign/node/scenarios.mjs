// What the client does with queues, by name and in order.

import {createHash} from 'node:crypto';

import {MutationSet} from '@google-cloud/spanner';

import {codeOf, noteText} from './database.mjs';
import {ask} from './parent.mjs';
import {keysOf} from './receiver.mjs';

const MAIL = {to: 'ada@example.com', copies: 2, tags: ['a', 'ü']};
const DELAY_SECONDS = 300;
const LEASE_SECONDS = 10;
const TRANSACTIONS = 20;
const LARGE_BYTES = 3 << 19;

// The client knows the type of a plain object by itself, but not of its own PGJsonb.
const sendMail = db => ({
  ...db.bind('send_mail', 1, 'welcome', db.json(MAIL)),
  types: {p3: db.postgresql ? 'jsonb' : 'json'},
});
const receiveMails = db => db.receive('receive_mails', 'mail_key');

// Reads the schema back.
async function schema(db) {
  return {ddl: await db.readDdl()};
}

// Inserts a message together with its order, and looks at both as rows.
async function send_dml(db) {
  const counts = await db.write(db.insertOrder(), sendMail(db));
  const stored = await db.queryOne(db.bind('select_mail', 1, 'welcome'));
  return {
    counts,
    state: await db.state(),
    stored: db.decodeJson(stored),
    received: await receiveMails(db).take(1),
  };
}

// Sends with the client's Send mutation, together with the order's row.
async function send_mutation(db) {
  const {orders, order_columns: columns, mails, notes} = db.statements;
  const mutations = new MutationSet();
  mutations.insert(orders, {[columns[0]]: '1', [columns[1]]: 'new', [columns[2]]: '0'});
  mutations.queueSend(mails, ['1', 'welcome'], {payload: db.json(MAIL)});
  await db.client.writeAtLeastOnce(mutations);
  await db.client.runTransactionAsync(async transaction => {
    await transaction.runUpdate(db.setState('paid'));
    transaction.queueSend(notes, ['1'], {payload: noteText(1)});
    await transaction.commit();
  });
  return {
    state: await db.state(),
    mails: await receiveMails(db).take(1),
    notes: await db.receiveNotes().take(1),
  };
}

// Reads messages of all payload types, with everything that comes with them.
async function receive(db) {
  const saw = {before: new Date().toISOString()};
  await db.write(
    db.insertOrder(),
    sendMail(db),
    db.bind('send_blob', 1, Buffer.from('00fffe61', 'hex')),
    db.sendNote(1),
    db.sendNote(2)
  );
  const streams = {
    mails: receiveMails(db),
    blobs: db.receive('receive_blobs', 'id_key'),
    notes: db.receiveNotes(),
  };
  for (const [name, stream] of Object.entries(streams)) {
    saw[name] = await stream.take(name === 'notes' ? 2 : 1);
    saw[`${name}_columns`] = stream.columns();
  }
  saw.after = new Date().toISOString();
  return saw;
}

// Sends while a stream is open.
async function arrive(db) {
  const stream = db.receiveNotes();
  const received = [];
  for (const id of [1, 2, 3]) {
    await db.write(db.sendNote(id));
    received.push(await stream.next());
  }
  stream.close();
  return {ids: keysOf(received)};
}

async function renewNotes(db, ...tokens) {
  const [rows] = await db.client.run(db.bind('renew_notes', tokens));
  return rows.map(([old, fresh, expires]) => ({
    old: old.value,
    new: fresh.value,
    expires: expires.value?.toISOString() ?? null,
  }));
}

// Extends leases: running ones beside one that is nonsense, again, and after the acknowledgment.
async function renew(db) {
  await db.write(db.sendNote(1), db.sendNote(2));
  const received = await db.receiveNotes().take(2);
  const first = await renewNotes(db, received[0].token, 'nonsense', received[1].token);
  const second = await renewNotes(db, first[0].new);
  await db.write(db.acknowledgeNote(1));
  await db.write(db.acknowledgeNote(2));
  const late = await renewNotes(db, second[0].new);
  return {received, first, second, late};
}

// Deletes the message in the transaction of the work's own write, twice.
async function acknowledge_dml(db) {
  await db.write(db.insertOrder(), db.sendNote(1));
  await db.receiveNotes().take(1);
  const counts = await db.write(db.setState('done'), db.acknowledgeNote(1));
  const second = await codeOf(db.write(db.setState('twice'), db.acknowledgeNote(1)));
  return {counts, second, state: await db.state(), left: await db.countNotes()};
}

// Uses the client's Ack mutation: once, twice, and once more without minding.
async function acknowledge_mutation(db) {
  const {orders, order_columns: columns, notes} = db.statements;
  await db.write(db.insertOrder(), db.sendNote(1));
  await db.receiveNotes().take(1);
  const saw = {};
  for (const state of ['done', 'twice', 'ignored']) {
    const mutations = new MutationSet();
    mutations.update(orders, {[columns[0]]: '1', [columns[1]]: state});
    mutations.queueAck(notes, ['1'], {ignoreNotFound: state === 'ignored'});
    saw[state] = [await codeOf(db.client.writeAtLeastOnce(mutations)), await db.state()];
  }
  return saw;
}

// Has transactions that read, write and send at the same time.
async function concurrent(db) {
  await db.write(db.insertOrder());
  await Promise.all(Array.from({length: TRANSACTIONS}, (_, id) => countAndSend(db, id)));
  return {changes: await db.changes(), notes: await db.countNotes()};
}

async function countAndSend(db, id) {
  await db.client.runTransactionAsync(async transaction => {
    const [rows] = await transaction.run(db.bind('select_changes', 1));
    await transaction.runUpdate(db.bind('set_changes', 1, Number(rows[0][0].value) + 1));
    await transaction.runUpdate(db.sendNote(id));
    await transaction.commit();
  });
}

// Sends a payload that is larger than a chunk of a stream.
async function large(db) {
  const text = '0123456789abcdeü'.repeat(Math.floor(LARGE_BYTES / 17));
  await db.write(db.bind('send_note', 1, text));
  const [received] = await db.receiveNotes().take(1);
  return {sent: digest(text), received: digest(received.payload)};
}

const digest = text => createHash('sha256').update(text).digest('hex');

// Lets a lease run out.
async function redeliver(db) {
  await db.write(db.sendNote(1));
  const stream = db.receiveNotes();
  const received = [await stream.next()];
  await ask({ask: 'advance', seconds: LEASE_SECONDS});
  received.push(await stream.next());
  stream.close();
  return {received};
}

// Has the stream broken after its first message, and for good after its second, which comes only if the
// client has resumed it.
async function resume(db) {
  await ask({ask: 'break_stream', sql: db.statements.receive_notes});
  const stream = db.receiveNotes();
  const received = [];
  for (const id of [1, 2]) {
    await db.write(db.sendNote(id));
    received.push(await stream.next());
  }
  return {ids: keysOf(received), code: await codeOf(stream.next())};
}

// Has the first commit aborted; the client runs the transaction again.
async function aborted(db) {
  await ask({ask: 'abort_commit'});
  let runs = 0;
  await db.client.runTransactionAsync(async transaction => {
    runs += 1;
    await transaction.runUpdate(db.sendNote(1));
    await transaction.commit();
  });
  return {runs, notes: await db.countNotes()};
}

// Sends messages for later, which come when the gateway's clock is there.
async function delayed(db) {
  const due = new Date(Date.now() + DELAY_SECONDS * 1000);
  await db.write(db.bind('send_note_later', 1, noteText(1), due));
  const mutations = new MutationSet();
  mutations.queueSend(db.statements.notes, ['2'], {payload: noteText(2), deliverTime: due});
  await db.client.writeAtLeastOnce(mutations);
  const stream = db.receiveNotes();
  const now = [];
  for (const id of [3, 4]) {
    await db.write(db.sendNote(id));
    now.push(await stream.next());
    await db.write(db.acknowledgeNote(id));
  }
  await ask({ask: 'advance', seconds: DELAY_SECONDS});
  const messages = await stream.take(2);
  return {due: due.toISOString(), now: keysOf(now), later: keysOf(messages), messages};
}

// Closes a stream between two messages, and cancels one that waits; neither takes the next message.
async function cancel(db) {
  await db.write(db.sendNote(1), db.sendNote(2));
  let started = performance.now();
  const received = await db.receiveNotes().take(1);
  const close_seconds = secondsSince(started);

  const idle = db.receiveNotes();
  await db.write(db.sendNote(3));
  received.push(await idle.next());
  const ended = codeOf(idle.next());
  started = performance.now();
  idle.close();
  const cancel_code = await ended;
  const cancel_seconds = secondsSince(started);

  started = performance.now();
  await db.write(db.sendNote(4));
  received.push(...(await db.receiveNotes().take(1)));
  const next_seconds = secondsSince(started);
  return {ids: keysOf(received), close_seconds, cancel_seconds, cancel_code, next_seconds};
}

const secondsSince = started => (performance.now() - started) / 1000;

export const SCENARIOS = [
  schema,
  send_dml,
  send_mutation,
  receive,
  arrive,
  renew,
  acknowledge_dml,
  acknowledge_mutation,
  concurrent,
  large,
  redeliver,
  resume,
  aborted,
  delayed,
  cancel,
];
