/** The running Runlet that a command asks: its options, its address, and what went wrong there. */

import { ClientError, type ClientOptions } from '../client/index.ts';
import { defaultKeysFile, readKeys } from './keys/file.ts';
import { UsageError } from './options.ts';

const [text, flag] = [{ type: 'string' }, { type: 'boolean' }] as const;

export const serverOptions = { key: text, url: text, env: text, remote: flag } as const;

export const serverUsage = `  --key KEY         an API key of staff (default: RUNLET_API_KEY)
  --url URL         where Runlet is (default: RUNLET_URL, else http://127.0.0.1:8787)
  --remote          where this folder has deployed it
  --env NAME        with --remote: an environment of the Wrangler configuration`;

interface ServerValues {
	readonly key?: string;
	readonly url?: string;
	readonly env?: string;
	readonly remote?: boolean;
}

/** Returns the address and the key that the options name. Throws a `UsageError` if there is no address. */
export async function findServer(
	values: ServerValues,
): Promise<Required<Pick<ClientOptions, 'baseUrl'>> & Pick<ClientOptions, 'apiKey'>> {
	const named = values.url ?? process.env.RUNLET_URL ?? 'http://127.0.0.1:8787';
	const url = values.remote ? await findRemote(values.env ?? '') : named;
	if (!URL.canParse(url)) throw new UsageError(`--url: ${url} is not a URL.`);
	return { baseUrl: url.replace(/\/+$/, ''), apiKey: values.key ?? process.env.RUNLET_API_KEY };
}

/** Returns the address of the deployed Worker, which `runlet deploy` noted. */
async function findRemote(env: string): Promise<string> {
	const { remotes } = await readKeys(defaultKeysFile);
	const url = remotes[env]?.url;
	if (url !== undefined) return url;
	throw new UsageError(
		`--remote: this folder knows no address of a deployed Worker. Deploy from here, or name it: --url https://…`,
	);
}

/** Turns a failed request about something with an id into a `UsageError`, and returns any other error. */
export function explainFailure(error: unknown, { url, id }: { readonly url: string; readonly id: string }): unknown {
	if (!(error instanceof ClientError)) return error;
	if (error.code === 'unreachable') return new UsageError(`${url} does not answer. Is Runlet running there?`);
	return new UsageError(`${id}: ${error.message}`);
}
