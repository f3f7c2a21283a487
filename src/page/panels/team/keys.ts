/** The keys of the owner, and how to make one. */

import type { Key } from '../../../client/index.ts';
import { createCopy, createTable, element } from '../../parts/element.ts';
import { describeAge } from '../../parts/time.ts';
import type { Viewer } from '../../parts/viewer.ts';
import { createPart } from './part.ts';
import type { Team } from './read.ts';

export function createKeys({ owner, keys }: Team, { me }: Viewer): HTMLElement {
	const isLocal = me?.kind === 'local';
	const command = `npm run keys -- make ${isLocal ? '--owner shop' : `--owner ${owner}`} --user kim --role staff${isLocal ? '' : ' --remote'}`;
	const copy = createCopy('Copy the command', () => command);
	const line = element('p', 'command', element('code', '', command), copy);
	const about =
		'A person signs in with a key of their own, or with an account by way of Cloudflare Access (docs/deploy.md).';
	const hidden = keys === undefined ? element('p', 'about', 'Keys are listed for the scope admin only.') : undefined;
	const table = keys === undefined || keys.length === 0 ? undefined : createKeyTable(keys);
	return createPart('Keys and sign-in', about, table, hidden, line);
}

function createKeyTable(keys: readonly Key[]): HTMLElement {
	const rows = keys.map((key) => {
		const { id, name = id, user = '', role, scopes, isOver, expiresAt } = key;
		const end = isOver ? 'ended' : expiresAt === undefined ? '' : `ends ${describeAge(expiresAt)}`;
		const cells = [user, role, scopes.join() === 'run' ? '' : scopes.join(', '), end];
		return element('tr', '', element('th', '', name), ...cells.map((text) => element('td', '', text)));
	});
	return createTable('keys', ['Key', 'Person', 'Role', 'Scopes', ''], rows);
}
