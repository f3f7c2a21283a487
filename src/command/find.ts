/** `runlet find`: finds the session and the run of a request by its id (docs/deploy.md, "From a complaint to the session"). */

import { createClient, type FoundRequest } from '../client/index.ts';
import { toMessageText } from '../core/base/errors.ts';
import { assertNotTakenByNpm, parseOptions, UsageError } from './options.ts';
import { toCommand } from './project.ts';
import { explainFailure, findServer, serverOptions, serverUsage } from './server.ts';

export const usage = `${toCommand('find', 'REQUEST_ID [OPTIONS]')}

Finds the session and the run of a request by the x-request-id of its answer.

${serverUsage}
  --help            this text`;

export async function run(args: readonly string[]): Promise<number> {
	const { values, positionals } = readArguments(args);
	if (values.help) {
		console.log(usage);
		return 0;
	}
	const [id, ...more] = positionals;
	if (id === undefined || more.length > 0)
		throw new UsageError(`Name one x-request-id. ${toCommand('find', '--help')}`);
	const server = await findServer(values);
	const found = await createClient(server)
		.getRequest(id)
		.catch((error: unknown) => {
			throw explainFailure(error, { url: server.baseUrl, id });
		});
	const place = values.remote ? `--remote${values.env === undefined ? '' : ` --env ${values.env}`}` : '';
	const named = values.url ?? process.env.RUNLET_URL;
	console.log(describe(found, server.baseUrl, place === '' && named !== undefined ? `--url ${server.baseUrl}` : place));
	return 0;
}

function readArguments(args: readonly string[]) {
	try {
		assertNotTakenByNpm(Object.keys(serverOptions));
		return parseOptions(toCommand('find', '--help'), {
			args: [...args],
			options: { ...serverOptions, help: { type: 'boolean', short: 'h' } },
			allowPositionals: true,
		});
	} catch (error) {
		throw new UsageError(toMessageText(error));
	}
}

/** @param place the options that name the server, for the next command */
function describe({ session, run, newest, links }: FoundRequest, url: string, place: string): string {
	const shown = run ?? newest;
	const label = run === undefined ? 'newest run' : 'run';
	const lines: readonly (readonly [label: string, value: string | undefined])[] = [
		['session', session.id],
		['agent', session.agent],
		['title', session.title],
		['user', session.user],
		['status', session.status],
		[label, shown === undefined ? 'none' : `${shown.id} (${shown.status})`],
		['error', shown?.error && `${shown.error.code}: ${shown.error.message}`],
		['page', `${url}${links.page}`],
		['record', toCommand('record', `${session.id}${place === '' ? '' : ` ${place}`}`)],
	];
	return lines
		.flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(12)}${toLine(value)}`]))
		.join('\n');
}

/** Titles and errors may hold a text of anybody, so control characters do not reach the terminal. */
function toLine(text: string): string {
	return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
}
