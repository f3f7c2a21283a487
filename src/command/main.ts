/** The `runlet` command: finds the named command, runs it, and prints its error. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
import * as v from 'valibot';
import { toMessageText } from '../core/base/errors.ts';
import { findNearest } from '../core/base/text.ts';
import { type Command, type CommandOptions, UsageError } from './options.ts';
import { extension } from './project.ts';

const commands: Readonly<Record<string, { readonly about: string; readonly load: () => Promise<Command> }>> = {
	dev: { about: 'serves your Worker on this machine, and reloads what is saved', load: () => import('./dev.ts') },
	chat: { about: 'talks to an agent in the terminal', load: () => import('./chat.ts') },
	find: { about: 'finds the session of a request by its x-request-id', load: () => import('./find.ts') },
	record: { about: 'saves a session as a recording', load: () => loadForWorkers('record') },
	evals: { about: 'runs evals of your agents with real models', load: () => loadForWorkers('evals') },
	replay: { about: 'replays recordings with your agents as they are now', load: () => loadForWorkers('replay') },
	skills: { about: 'publishes the folder skills/ to Workers KV', load: () => import('./skills.ts') },
	keys: { about: 'makes, lists, rotates and revokes API keys', load: () => import('./keys.ts') },
	deploy: { about: 'puts your Worker on Cloudflare, with its keys and skills', load: () => import('./deploy.ts') },
	page: { about: 'makes the page with your name, logo and colours', load: () => import('./page.ts') },
};

const usage = `npx runlet COMMAND [OPTIONS]
${Object.entries(commands)
	.map(([name, { about }]) => `  ${name.padEnd(18)}${about}`)
	.join('\n')}
  COMMAND --help    the options of a command
  --version         the version of Runlet`;

/** Loads a command with code of the Worker. The compiler checks its types in tsconfig.worker.json, so not from here. */
async function loadForWorkers(name: 'evals' | 'record' | 'replay'): Promise<Command> {
	return import(`./${name}${extension}`);
}

/** Runs a command, and sets the exit code of the process. */
export async function main([name, ...args]: readonly string[], options: CommandOptions = {}): Promise<void> {
	const found = name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined;
	if (found === undefined) {
		process.exitCode = answerItself(name);
		return;
	}
	const command = await found.load();
	try {
		process.exitCode = await command.run(args, options);
	} catch (error) {
		if (error instanceof TypeError) console.error(`${command.usage}\n`);
		if (error instanceof UsageError)
			console.error(styleText('red', error.message, { stream: process.stderr, validateStream: true }));
		else console.error(`${name}: ${toMessageText(error)}`);
		process.exit(error instanceof TypeError ? 2 : 1);
	}
}

/** Handles arguments that do not name a command. Returns the exit code. */
function answerItself(name: string | undefined): number {
	if (name === '--version') {
		const file = join(import.meta.dirname, '..', '..', 'package.json');
		console.log(v.parse(v.object({ version: v.string() }), JSON.parse(readFileSync(file, 'utf8'))).version);
		return 0;
	}
	if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
		console.log(usage);
		return 0;
	}
	const meant = findNearest(name, Object.keys(commands));
	const hint = meant === undefined ? '' : ` Did you mean ${meant}?`;
	console.error(`"${name}": there is no such command.${hint}\n\n${usage}`);
	return 2;
}
