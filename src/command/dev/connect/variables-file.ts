/** Changes variables in a file such as `.dev.vars`. All other lines stay as they are. */

import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual, parseEnv } from 'node:util';
import { RunletError } from '../../../core/base/errors.ts';

/** The file that Wrangler reads (https://developers.cloudflare.com/workers/configuration/secrets/). */
export function findVariablesFile(folder: string, environment: string | undefined): string {
	const names = [...(environment === undefined ? [] : [`.dev.vars.${environment}`]), '.dev.vars', '.env'];
	return join(folder, names.find((name) => existsSync(join(folder, name))) ?? '.dev.vars');
}

/** Sets the variables with a value, and removes those without. Only the user of this process can read the file then. */
export function writeVariables(file: string, changes: Readonly<Record<string, string | undefined>>): void {
	const target = existsSync(file) ? realpathSync(file) : file;
	const before = existsSync(target) ? readFileSync(target, 'utf8') : '';
	const after = changeVariables(before, changes);
	const wanted: Record<string, string | undefined> = { ...parseEnv(before), ...changes };
	for (const [name, value] of Object.entries(wanted)) if (value === undefined) delete wanted[name];
	if (!isDeepStrictEqual({ ...parseEnv(after) }, wanted))
		throw new RunletError(
			'conflict',
			`${basename(file)}: has lines that cannot be changed without a doubt. Set ${Object.keys(changes).join(', ')} there by hand.`,
		);
	// A rename replaces the whole file at once. The name is one that no watcher of variables knows.
	const next = join(dirname(target), `.vars-${randomUUID()}`);
	try {
		writeFileSync(next, after, { mode: 0o600, flag: 'wx' });
		renameSync(next, target);
	} catch (error) {
		rmSync(next, { force: true });
		throw error;
	}
}

function changeVariables(text: string, changes: Readonly<Record<string, string | undefined>>): string {
	const left = new Map(Object.entries(changes));
	const lines = text.split(/(?<=\n)/).flatMap((line) => {
		const name = /^\s*(?:export\s+)?([\w.-]+)\s*=/.exec(line)?.[1] ?? '';
		if (!Object.hasOwn(changes, name)) return [line];
		const value = left.get(name);
		left.delete(name);
		return value === undefined ? [] : [`${name}=${value}\n`];
	});
	const kept = lines.join('');
	const added = [...left].flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}\n`]));
	return `${kept}${kept === '' || kept.endsWith('\n') || added.length === 0 ? '' : '\n'}${added.join('')}`;
}
