import { expect, test } from 'vitest';
import { toDiffLineKinds } from '../../../src/core/base/diff-lines.ts';

test('an added or removed line is no header, even if it looks like a header', () => {
	const lines = [
		'Careful:',
		'--- a/x.ts',
		'+++ b/x.ts',
		'@@ -1,3 +1,3 @@',
		' i',
		'',
		'--- x',
		'+++i',
		'diff --git a/y b/y',
	];
	expect(toDiffLineKinds([...lines, '--- a/y', '+++ b/y'])).toEqual([
		...['other', 'head', 'head', 'head', 'other', 'other', 'removed', 'added', 'other'],
		...['head', 'head'],
	]);
});
