/** The files and the model of the next message of a chat in the terminal. */

import { readFile, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { type Attachment, ClientError, type SessionClient } from '../../client/index.ts';
import { describeModel, describeSize } from '../../client/words.ts';
import { toMessageText } from '../../core/base/errors.ts';
import { describeContent, findMime } from '../../core/workspace/content.ts';
import { print, printText } from './print.ts';

export interface NextMessage {
	/** The chosen model, if it replaces the session's model. */
	model?: string;
	files: readonly Attachment[];
}

/** The limits of the server for one message. */
const mostFiles = 16;
const mostBytes = 2_800_000;

/** Reads a file, and attaches it to the next message. */
export async function attachFile(next: NextMessage, file: string): Promise<void> {
	if (file === '') throw refuse('give the path of a file');
	const path = resolve(file.startsWith('~/') ? join(homedir(), file.slice(2)) : file);
	const name = basename(path);
	const before = next.files.reduce((sum, { size }) => sum + size, 0);
	if (next.files.length >= mostFiles) throw refuse(`a message may have ${mostFiles} files`);
	const fail = (error: unknown): never => {
		throw refuse(isMissing(error) ? `there is no file ${file}` : toMessageText(error));
	};
	const { size } = await stat(path).catch(fail);
	if (before + size > mostBytes)
		throw refuse(
			`${name} has ${describeSize(size)}: all files of a message may have ${describeSize(mostBytes)} together`,
		);
	const bytes = await readFile(path).catch(fail);
	const type = findMime(name, describeContent(bytes));
	next.files = [...next.files, { name, type, size: bytes.length, contentBase64: bytes.toString('base64') }];
	print(
		'dim',
		`${next.files.map((one) => `${one.name} (${describeSize(one.size)})`).join(', ')}: sent with the next message`,
	);
}

/** Chooses the model of the next messages. */
export async function chooseModel(next: NextMessage, client: SessionClient, id: string, name: string): Promise<void> {
	const { models } = await readModels(client, id);
	if (!models.some((model) => model.name === name)) {
		const names = models.map((model) => model.name).join(', ');
		throw new ClientError('invalid_argument', `/model: ${name} is none of ${names}.`);
	}
	next.model = name;
	print('dim', `The next message goes to ${name}.`);
}

/** Prints the models that can be chosen in the session. */
export async function printModels(next: NextMessage, client: SessionClient, id: string): Promise<void> {
	const { models, chosen } = await readModels(client, id);
	const current = next.model ?? chosen;
	for (const { name } of models)
		printText(`${name === current ? '*' : ' '} ${describeModel({ model: name, models })}\n`);
}

async function readModels(client: SessionClient, id: string) {
	const [session, agents] = await Promise.all([client.getSession(id), client.listAgents()]);
	const agent = agents.find(({ name }) => name === session.agent);
	return { models: agent?.models ?? [], chosen: session.model };
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';

function refuse(words: string): ClientError {
	return new ClientError('invalid_argument', `/attach: ${words}.`);
}
