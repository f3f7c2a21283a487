/** The short form of `npm run endurance -- slow`. It mostly waits: for readers that hardly read. */
import { test } from 'vitest';
import { show, timeout } from '../endurance/short.ts';
import { slow } from '../endurance/slow.ts';

test('slow readers cost neither the server its memory nor the model its speed', { timeout }, () =>
	show('slow', slow({ count: 20 })),
);
