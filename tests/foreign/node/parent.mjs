// The lines that go to the parent, and those that come back.

import process from 'node:process';
import {createInterface} from 'node:readline';

const input = createInterface({input: process.stdin});
const answers = input[Symbol.asyncIterator]();

export function print(line) {
  console.log(JSON.stringify(line));
}

// Has the parent do something and waits until it is done.
export async function ask(request) {
  print(request);
  await answers.next();
}

export function closeAnswers() {
  input.close();
}
