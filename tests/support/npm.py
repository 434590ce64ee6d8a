"""Published packages for tests: installed once, below the build folder, never beside sources."""

import json
import pathlib
import shutil
import subprocess
import unittest

INSTALL_SECONDS = 240


def npm_folder(build, name, packages):
    """A folder below the build folder with these packages {name: version} in node_modules. Skips
    the test when there is no npm, or when the registry cannot be reached."""
    if not shutil.which('npm') or not shutil.which('node'):
        raise unittest.SkipTest('npm is not installed')
    folder = pathlib.Path(build) / 'npm' / name
    wanted = json.dumps({'private': True, 'dependencies': packages}, sort_keys=True)
    stamp = folder / 'installed.json'
    if stamp.exists() and stamp.read_text(encoding='utf-8') == wanted:
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'package.json').write_text(wanted, encoding='utf-8')
    command = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock']
    try:
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        raise unittest.SkipTest('the npm registry did not answer in time') from None
    if done.returncode:
        lines = done.stdout.strip().splitlines()
        raise unittest.SkipTest(f"npm could not install {', '.join(packages)}: "
                                f"{lines[-1] if lines else done.returncode}")
    stamp.write_text(wanted, encoding='utf-8')
    return folder
