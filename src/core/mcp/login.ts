import { type AskUser, askUser } from '../tool/index.ts';
import type { McpServer } from './server.ts';

/** Asks a person to log in. */
export function askForLogin(server: McpServer, url: string): AskUser {
	const question = `Log in to ${server.name} here, then answer "done": ${url}`;
	return askUser(question, { kind: 'login', server: server.name, url }, { kind: 'login' });
}
