/**
 * The short form of `npm run endurance -- slow`. It is in its own file, because it mostly waits for slow readers.
 */
import { test } from 'vitest';
import { show, timeout } from '../endurance/short.ts';
import { slow } from '../endurance/slow.ts';

test('slow readers neither fill the memory of the server nor slow down the model', { timeout }, () =>
	show('slow', slow({ count: 20 })),
);
