/** The child of `server.ts`: serves a Worker under Miniflare with the options that it is given as JSON. */
import { Miniflare } from 'miniflare';

// The whole group goes when the programme does, however it ended.
process.on('disconnect', () => process.kill(0, 'SIGKILL'));
const miniflare = new Miniflare(JSON.parse(process.argv[2] ?? ''));
await miniflare.ready;
process.send?.('ready');
