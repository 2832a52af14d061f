// Drives Spanner queues with the official Node client.
//
//   SPANNER_EMULATOR_HOST=localhost:9010 node main.mjs statements.json googlesql all
//
// It runs one scenario, or all of them, each in a database of its own, and prints one JSON line for each:
// {"scenario": NAME, "saw": {...}} or {"scenario": NAME, "error": TEXT}. In between it may ask its parent for
// something that no client can do, {"ask": "advance", "seconds": 300}, and waits for a line in answer.

import {readFile} from 'node:fs/promises';
import process from 'node:process';

import {Client} from './client.mjs';
import {closeAnswers, print} from './parent.mjs';
import {SCENARIOS} from './scenarios.mjs';

const SCENARIO_MILLISECONDS = 30_000;

function deadline() {
  return new Promise((_, reject) => {
    const late = () => reject(new Error(`no end after ${SCENARIO_MILLISECONDS} ms`));
    setTimeout(late, SCENARIO_MILLISECONDS).unref();
  });
}

async function perform(client, scenario) {
  const work = async () => scenario(await client.freshDatabase());
  try {
    print({scenario: scenario.name, saw: await Promise.race([work(), deadline()])});
  } catch (error) {
    print({scenario: scenario.name, error: String(error)});
  }
}

async function main([path, dialect, wanted]) {
  const statements = JSON.parse(await readFile(path, 'utf8'))[dialect];
  const chosen = SCENARIOS.filter(({name}) => wanted === 'all' || wanted === name);
  if (!statements || chosen.length === 0) {
    console.error('usage: main.mjs STATEMENTS googlesql|postgresql SCENARIO|all');
    process.exit(2);
  }
  const client = await Client.connect(statements, dialect === 'postgresql');
  for (const scenario of chosen) {
    await perform(client, scenario);
  }
  client.close();
  closeAnswers();
}

await main(process.argv.slice(2));
