// The official client, which makes its own instance and databases.

import {randomBytes} from 'node:crypto';

import {protos, Spanner} from '@google-cloud/spanner';

import {Database} from './database.mjs';

const PROJECT = 'foreign';
const INSTANCE = 'node-client';
const ALREADY_EXISTS = 6;
const {DatabaseDialect} = protos.google.spanner.admin.database.v1;

export class Client {
  static async connect(statements, postgresql) {
    const client = new Client(statements, postgresql);
    await client.ensureInstance();
    return client;
  }

  constructor(statements, postgresql) {
    this.statements = statements;
    this.postgresql = postgresql;
    this.spanner = new Spanner({projectId: PROJECT});
    this.admin = this.spanner.getDatabaseAdminClient();
  }

  async ensureInstance() {
    const instances = this.spanner.getInstanceAdminClient();
    try {
      const [operation] = await instances.createInstance({
        parent: instances.projectPath(PROJECT),
        instanceId: INSTANCE,
        instance: {
          config: instances.instanceConfigPath(PROJECT, 'emulator-config'),
          displayName: 'Node client',
          nodeCount: 1,
        },
      });
      await operation.promise();
    } catch (error) {
      if (error.code !== ALREADY_EXISTS) {
        throw error;
      }
    } finally {
      await instances.close();
    }
  }

  // Creates a database with the table and the queues of the scenarios.
  async freshDatabase() {
    const id = `db-${randomBytes(8).toString('hex')}`;
    const [creation] = await this.admin.createDatabase({
      parent: this.admin.instancePath(PROJECT, INSTANCE),
      createStatement: this.postgresql ? `CREATE DATABASE "${id}"` : `CREATE DATABASE \`${id}\``,
      extraStatements: this.statements.create,
      databaseDialect: this.postgresql ? DatabaseDialect.POSTGRESQL : DatabaseDialect.GOOGLE_STANDARD_SQL,
    });
    await creation.promise();
    const path = this.admin.databasePath(PROJECT, INSTANCE, id);
    const [change] = await this.admin.updateDatabaseDdl({
      database: path,
      statements: this.statements.update,
    });
    await change.promise();
    const readDdl = async () => (await this.admin.getDatabaseDdl({database: path}))[0].statements;
    const database = this.spanner.instance(INSTANCE).database(id);
    return new Database(this.statements, this.postgresql, database, readDdl);
  }

  close() {
    this.spanner.close();
  }
}
