// An open stream of messages.

const CANCELLED = 1;

export class Receiver {
  constructor(db, query, key) {
    this.db = db;
    this.key = key;
    this.fields = null;
    // Neither destroy() nor end() of the client's streams reaches the call beneath, which would go on taking
    // messages, and keep the process alive; an interceptor of gRPC gets hold of it.
    const interceptors = [(options, start) => (this.call = start(options))];
    const stream = db.client.runStream({...query, gaxOptions: {otherArgs: {options: {interceptors}}}});
    stream.on('response', response => {
      this.fields ??= response.metadata?.rowType.fields;
    });
    stream.on('error', () => {}); // whoever waits for a row is told
    this.rows = stream[Symbol.asyncIterator]();
  }

  // Waits for the next message.
  async next() {
    const {done, value: row} = await this.rows.next();
    if (done) {
      throw new Error('the stream ended');
    }
    return this.read(row);
  }

  // Waits for some messages and closes the stream.
  async take(count) {
    try {
      const messages = [];
      while (messages.length < count) {
        messages.push(await this.next());
      }
      return messages;
    } finally {
      this.close();
    }
  }

  close() {
    this.call.cancelWithStatus(CANCELLED, 'closed');
  }

  // Names the columns of the stream and their types, after a message has come.
  columns() {
    return this.fields.map(({name, type}) => [
      name,
      type.typeAnnotation === 'TYPE_ANNOTATION_CODE_UNSPECIFIED' ? type.code : type.typeAnnotation,
    ]);
  }

  read(row) {
    const {payload, deliver_time, expires, token, last} = this.db.statements;
    const column = name => row.find(field => field.name === name).value;
    return {
      key: this.key.map(name => this.decode(column(name), name)),
      payload: this.decode(column(payload), payload),
      deliver_time: column(deliver_time).toISOString(),
      expires: column(expires).toISOString(),
      token: column(token),
      last: column(last),
    };
  }

  // Turns the client's own type of a key or a payload into what is printed.
  decode(value, name) {
    const {type} = this.fields.find(field => field.name === name);
    switch (type.code) {
      case 'INT64':
        return Number(value);
      case 'BYTES':
        return value.toString('hex');
      case 'JSON':
        return this.db.decodeJson(value);
      default:
        return value;
    }
  }
}

export const keysOf = messages => messages.map(({key}) => key[0]);
