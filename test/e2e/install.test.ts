import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../../scripts/root.ts';

/** Runs the script that npm runs before all other scripts. The script reads `version` as the version of Node. */
function runOn(version: string) {
	const pretend = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'${version}'}})`;
	return spawnSync(process.execPath, ['--import', pretend, join(root, 'scripts/install.mjs')], { encoding: 'utf8' });
}

test('refuses an old version of Node with one sentence before npm installs anything', () => {
	for (const version of ['12.22.12', '16.20.2', '18.20.8']) {
		const { status, stderr } = runOn(version);
		expect(status).toBe(1);
		expect(stderr).toMatch(new RegExp(`^Runlet needs Node 20 or newer, and this is Node ${version}\\. .*\\n$`));
	}
});

test('accepts every version of Node that engines allows, even the oldest', () => {
	for (const version of ['20.0.0', '22.0.0', '24.0.0']) expect(runOn(version)).toMatchObject({ status: 0, stderr: '' });
});
